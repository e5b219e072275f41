<?php
const ROOT = 'quern:{000}:';
$url = parse_url(str_replace('unix:', 'file:', getenv('REDIS_URL')));
($r = new Redis())->connect($url['host'] ?? $url['path'], $url['port'] ?? -1);
[$ms, $tail] = [sprintf('%012x', microtime(true) * 1000), bin2hex(random_bytes(8))];
$id = vsprintf('%s-%s-7000-8%s-%s', [substr($ms, 0, 8), substr($ms, 8), substr($tail, 0, 3), substr($tail, 3, 12)]);
$job = msgpack_pack(['v' => 1, 'id' => $id, 'prompt' => 'How many primes are there below 1000?']);
$r->rawCommand('FCALL', 'quern_v1_submit', 1, ROOT, 'id', $id, 'job', $job);
$ends = '/^job\.(completed|incomplete|failed|cancelled)$/';
for ($seq = 0, $type = ''; !preg_match($ends, $type) && $r->exists(ROOT . "job:$id");) {
    foreach ($r->xRead([ROOT . "events:$id" => "$seq-0"], 100, 5000)[ROOT . "events:$id"] ?? [] as $entry) {
        ['seq' => $seq, 'type' => $type] = msgpack_unpack($entry['event']);
        echo "$type\n";
    }
}
$result = ($bytes = $r->get(ROOT . "result:$id")) ? msgpack_unpack($bytes) : [];
echo $result['answer'] ?? $result['error']['message'] ?? $result['status'] ?? "no result of job $id", "\n";
