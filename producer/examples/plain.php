<?php
// Ask quern with phpredis and msgpack alone: php plain.php QUESTION [FILE]...
// "Function not found": nobody has used this Redis yet; run any quern verb
// (quern queue ls) or a quern-consumer once.
const ROOT = 'quern:{000}:';
const ONGOING = ['scheduled', 'queued', 'in_progress', 'waiting'];
const ENDS = ['job.completed', 'job.incomplete', 'job.failed', 'job.cancelled'];
// parse_url() knows no unix:///run/redis.sock, but file:///run/redis.sock.
$url = getenv('REDIS_URL') ?: 'redis://127.0.0.1:6379';
$url = parse_url(str_replace('unix:', 'file:', $url));
$redis = new Redis();
$redis->connect($url['host'] ?? $url['path'], $url['port'] ?? -1);
if (isset($url['pass'])) {
    $redis->auth([($url['user'] ?? '') ?: 'default', rawurldecode($url['pass'])]);
}
$redis->setOption(Redis::OPT_READ_TIMEOUT, 60);

function fail(string $why): never
{
    fwrite(STDERR, "$why\n");
    exit(1);
}

// A UUIDv7; the three digits after the 7 are the partition.
function new_id(): string
{
    $ms = sprintf('%012x', (int) (microtime(true) * 1000));
    $noise = bin2hex(random_bytes(8));
    return substr($ms, 0, 8) . '-' . substr($ms, 8) . '-7000-8'
        . substr($noise, 0, 3) . '-' . substr($noise, 3, 12);
}

function put(Redis $redis, string $path): array
{
    $data = file_get_contents($path);
    $sha = hash('sha256', $data);
    $key = ROOT . "blob:$sha";
    if (!$redis->set($key, $data, ['nx', 'ex' => 86400])) {
        $redis->rawCommand('SET', $key, $data, 'XX', 'KEEPTTL'); // what is there may be false
        $redis->rawCommand('EXPIRE', $key, 86400, 'GT');
    }
    return ['name' => basename($path), 'blob' => $sha, 'bytes' => strlen($data)];
}

function submit(Redis $redis, array $job): string
{
    $job = ['v' => 1, 'id' => new_id()] + $job;
    $pairs = ['id', $job['id'], 'job', msgpack_pack($job)];
    foreach ($job['files'] as $file) {
        array_push($pairs, 'blob', $file['blob']); // to live as long as the job
    }
    $reply = $redis->rawCommand('FCALL', 'quern_v1_submit', 1, ROOT, ...$pairs);
    return is_array($reply) ? $reply[0] : throw new Exception($redis->getLastError());
}

// Every event once, in order. A blocking read of the stream replays and follows
// in one; it needs no channel.
function follow(Redis $redis, string $id, int $last = 0): Generator
{
    $key = ROOT . "events:$id";
    do {
        $state = $redis->hGet(ROOT . "job:$id", 'state') ?: 'unknown';
        $entries = $redis->xRead([$key => "$last-0"], 100, 5000)[$key] ?? [];
        if (!$entries && !in_array($state, ONGOING)) {
            fail("job $id is $state, its events are not kept");
        }
        foreach ($entries as $entry) {
            $event = msgpack_unpack($entry['event']);
            $last = $event['seq'];
            yield $event;
        }
    } while (!isset($event) || !in_array($event['type'], ENDS));
}

$files = array_map(fn ($path) => put($redis, $path), array_slice($argv, 2));
$id = submit($redis, ['prompt' => $argv[1], 'files' => $files]);
foreach (follow($redis, $id) as $event) {
    fwrite(STDERR, "$event[seq] $event[type] " . ($event['data']['text'] ?? '') . "\n");
}
$result = msgpack_unpack($redis->get(ROOT . "result:$id"));
foreach ($result['images'] ?? [] as $image) {
    $png = (string) $redis->get(ROOT . "blob:$image[blob]");
    if (hash('sha256', $png) !== $image['blob']) {
        fail("$image[name]: its bytes are gone, or are not what was drawn");
    }
    file_put_contents(basename($image['name']), $png);
}
echo $result['answer'] ?? $result['error']['message'] ?? $result['status'], "\n";
