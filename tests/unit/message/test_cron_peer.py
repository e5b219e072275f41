"""Schedules and zones beside croniter's and Python's, at random."""

import datetime
import random
import subprocess
import zoneinfo

import pytest
from croniter import croniter
from servers import binary

TRY = binary("cron_try")
UTC = datetime.timezone.utc
NAMES = {
    3: "jan feb mar apr may jun jul aug sep oct nov dec".split(),
    4: "sun mon tue wed thu fri sat".split(),
}
BOUNDS = [(0, 59), (0, 23), (1, 28), (1, 12), (0, 6)]
ZONES = (
    "Africa/Casablanca America/New_York America/Santiago America/St_Johns"
    " Asia/Kathmandu Asia/Tehran Australia/Lord_Howe Europe/Berlin Europe/Dublin"
    " Pacific/Apia Pacific/Chatham Asia/Gaza America/Sao_Paulo Africa/Monrovia"
).split()


def ask(lines):
    """What cron_try says, a line each."""
    asked = "".join(line + "\n" for line in lines)
    done = subprocess.run(
        [TRY], input=asked, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()


def part(rng, field):
    """One of the list in that field."""
    low, high = BOUNDS[field]
    a, b = sorted((rng.randint(low, high), rng.randint(low, high)))
    names = NAMES.get(field)
    forms = [str(a), f"{a}-{b}"]
    if b > a:
        forms.append(f"{a}-{b}/{rng.randint(1, high)}")
    if names:
        forms.append(names[a - low])
    return rng.choice(forms)


def spec(rng):
    """Five fields."""
    fields = []
    for field in range(5):
        if rng.random() < 0.35:
            step = rng.randint(2, min(11, BOUNDS[field][1]))
            fields.append(rng.choice(["*", "*", f"*/{step}"]))
        else:
            fields.append(",".join(part(rng, field) for _ in range(rng.randint(1, 3))))
    # To croniter all weekdays, however they are said, are "*".
    if "*" not in fields[2] + fields[4]:
        fields[4] = str(rng.randint(0, 6))
    # Of "*/n" beside a weekday crontab(5) and croniter say different things.
    if "/" in fields[2] and fields[2].startswith("*"):
        fields[4] = "*"
    if "/" in fields[4] and fields[4].startswith("*"):
        fields[2] = "*"
    return " ".join(fields)


def test_schedules_of_utc_are_those_of_croniter():
    rng = random.Random(4)
    cases = [(spec(rng), rng.randint(0, 4_000_000_000)) for _ in range(3000)]
    said = ask(f"UTC\t{at * 1000}\t{text}" for text, at in cases)
    for (text, at), next_ms in zip(cases, said):
        start = datetime.datetime.fromtimestamp(at, UTC)
        wanted = croniter(text, start).get_next(datetime.datetime)
        assert next_ms == str(int(wanted.timestamp()) * 1000), (text, start, wanted)


@pytest.mark.parametrize("name", ZONES)
def test_offsets_are_those_of_python(name):
    """At random, and about every change."""
    zone, rng = zoneinfo.ZoneInfo(name), random.Random(name)

    def offset(at):
        moment = datetime.datetime.fromtimestamp(at, UTC).astimezone(zone)
        return int(moment.utcoffset().total_seconds())

    times = [rng.randint(-3_000_000_000, 8_000_000_000) for _ in range(500)]
    for early in list(times):
        late = early + 15_000_000
        if offset(early) == offset(late):
            continue
        while late - early > 1:
            middle = (early + late) // 2
            if offset(middle) == offset(early):
                early = middle
            else:
                late = middle
        times += [early, late]
    said = ask(f"{name}\t{at}" for at in times)
    assert said == [str(offset(at)) for at in times]


def local_matches(text, moment):
    return croniter.match(text, moment.replace(tzinfo=None))


@pytest.mark.parametrize("name", ZONES)
def test_schedules_of_a_zone_follow_its_clock(name):
    """What is due is what the clock there shows, but at the end of an hour that
    was left out; and nothing that it showed before was due."""
    zone, rng = zoneinfo.ZoneInfo(name), random.Random(name)
    cases = [
        (f"{rng.randint(0, 59)} {rng.randint(0, 23)} * * *", rng.randint(0, 2**32))
        for _ in range(200)
    ]
    said = ask(f"{name}\t{at * 1000}\t{text}" for text, at in cases)
    for (text, at), next_ms in zip(cases, said):
        due = datetime.datetime.fromtimestamp(int(next_ms) / 1000, UTC)
        assert at < due.timestamp() <= at + 50 * 3600, (text, at)
        local = due.astimezone(zone)
        before = (due - datetime.timedelta(seconds=1)).astimezone(zone)
        left_out = before.utcoffset() < local.utcoffset()
        assert left_out or local_matches(text, local), (text, at, local)
        assert local.fold == 0, (text, at, local)
