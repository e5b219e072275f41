"""All that a partition holds, read in three round trips."""

READ = {
    b"hash": lambda pipe, key: pipe.hgetall(key),
    b"list": lambda pipe, key: pipe.lrange(key, 0, -1),
    b"set": lambda pipe, key: pipe.smembers(key),
    b"zset": lambda pipe, key: pipe.zrange(key, 0, -1),
    b"stream": lambda pipe, key: pipe.xrange(key),
    b"string": lambda pipe, key: pipe.get(key),
}
EMPTY = {b"hash": {}, b"list": [], b"set": set(), b"zset": [], b"stream": []}


class Partition:
    """As it was when this was made. Names of keys are without the root."""

    def __init__(self, client, root):
        names = client.keys(f"{root}*")
        pipe = client.pipeline(transaction=False)
        for name in names:
            pipe.type(name)
            pipe.pttl(name)
        told = pipe.execute()
        found = list(zip(names, told[::2], told[1::2]))
        found = [row for row in found if row[1] in READ]  # none: it has expired
        for name, type, _ in found:
            READ[type](pipe, name)
        self.types, self.ttls, self.values = {}, {}, {}
        for (name, type, ttl), value in zip(found, pipe.execute()):
            name = name.decode()[len(root) :]
            self.types[name], self.ttls[name], self.values[name] = type, ttl, value

    def names(self, kind):
        """Sorted; of keys whose first word is that kind."""
        return sorted(name for name in self.types if name.startswith(f"{kind}:"))

    def ttl(self, name):
        """In milliseconds; -1: for ever, -2: there is none."""
        return self.ttls.get(name, -2)

    def read(self, name, type=b"string"):
        """Its value, which must be of that type; an empty one where there is none."""
        assert self.types.get(name, type) == type, (name, self.types[name])
        return self.values.get(name, EMPTY.get(type))

    def hash(self, name, encoding="utf-8"):
        found = self.read(name, b"hash")
        return {key.decode(): value.decode(encoding) for key, value in found.items()}

    def texts(self, name, type=b"zset"):
        return [member.decode() for member in self.read(name, type)]
