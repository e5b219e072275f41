"""Attacks on the flow of control: a cell leaves, stays, or takes the interpreter
apart. Each ends as it should, and the session's next cell is a normal one."""

import pytest

LOOPS_AT_EXIT = """
import atexit
def forever():
    while True: print('late')
atexit.register(forever)
1
"""
IN_DEL = """
class Leaves:
    def __del__(self): raise SystemExit(3)
leaves = Leaves()
del leaves
1
"""
IN_THREAD = """
t = threading.Thread(target=sys.exit, args=(3,))
t.start()
t.join()
1
"""
LEAVES_LATER = """
def leave():
    time.sleep(0.2)
    os._exit(5)
threading.Thread(target=leave, daemon=True).start()
1
"""
STAYING = """
threading.Thread(target=time.sleep, args=(60,)).start()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
1
"""
FALLS_THROUGH = """
pid = os.fork()
'child' if pid == 0 else 'parent'
"""
SPAWNS = """
pid = libc.vfork()
if pid == 0: os.execv('/bin/sleep', ['sleep', '60'])
pid > 0
"""
TRACES = "sys.settrace(lambda *rest: 1 / 0)\n1"
TRACED = """
def trace(*rest):
    return trace
sys.settrace(trace)
threading.settrace(trace)
1
"""
DUMPS = """
import faulthandler
faulthandler.dump_traceback_later(0.05, exit=True)
time.sleep(5)
"""
ALARM = """
signal.signal(signal.SIGALRM, signal.SIG_DFL)
signal.setitimer(signal.ITIMER_REAL, 0.05)
time.sleep(5)
"""
CPU_ALARM = """
signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)
while True: pass
"""
BLANKS_MEMORY = """
for line in open('/proc/self/maps'):
    if ' rw-p ' in line and 'libpython' in line:
        start, end = (int(n, 16) for n in line.split()[0].split('-'))
        ctypes.memset(start, 0, end - start)
"""
HUNTS = """
import gc
found = [o for o in gc.get_objects() if 'quern' in str(getattr(o, '__name__', ''))]
for module in found:
    for name in list(vars(module)) if hasattr(module, '__dict__') else []:
        try:
            setattr(module, name, None)
        except Exception:
            pass
len(found) > 0
"""
PATCHES = """
import builtins, json, linecache, traceback
def broken(*args, **more): raise RuntimeError('patched')
for module in (json, linecache, traceback):
    for name in list(vars(module)):
        if callable(getattr(module, name)): setattr(module, name, broken)
sys.displayhook = sys.excepthook = builtins.print = broken
"""
SEALS = """
os.environ['LD_PRELOAD'] = '/workspace/evil.so'
os.environ['PYTHONSTARTUP'] = '/workspace/evil.py'
open('evil.py', 'w').write('print("evil")')
open('sitecustomize.py', 'w').write('print("evil")')
1
"""
NO_BUILTINS = "import builtins\nvars(builtins).clear()"
NO_NAMES = "for name in list(globals()): del globals()[name]"
NO_MODULES = "sys.modules.clear()"
DUP_OVER = "os.dup2(os.open('/dev/null', os.O_RDWR), 3)\ntime.sleep(9)"
TAKES_FRAMES = """
def take():
    while True: os.read(3, 1)
threading.Thread(target=take, daemon=True).start()
"""

GONE = {("crashed", "rolled_back"), ("timeout", "rolled_back")}

# name, code, how it may end: (status, state)
ENDS = [
    ("sys.exit", "sys.exit(3)", {("exit", "kept")}),
    ("SystemExit in a thread", IN_THREAD, {("ok", "kept")}),
    ("SystemExit in __del__", IN_DEL, {("ok", "kept")}),
    ("an atexit hook that loops", LOOPS_AT_EXIT, {("ok", "kept")}),
    ("os._exit(1)", "os._exit(1)", {("crashed", "rolled_back")}),
    ("os._exit in a thread, later", LEAVES_LATER, {("ok", "kept")}),
    ("threads that stay", STAYING, {("ok", "kept")}),
    ("a child that falls through", FALLS_THROUGH, {("ok", "kept")}),
    ("vfork and exec", SPAWNS, {("ok", "kept"), ("crashed", "rolled_back")}),
    ("a trace function that fails", TRACES, {("ok", "kept"), ("error", "kept")}),
    ("a trace function that stays", TRACED, {("ok", "kept")}),
    ("a timer of faulthandler", DUMPS, {("crashed", "rolled_back")}),
    ("a timer that kills", ALARM, {("crashed", "rolled_back")}),
    ("a timer of the processor's time", CPU_ALARM, {("crashed", "rolled_back")}),
    ("blanks the runner's memory", BLANKS_MEMORY, GONE),
    ("another file as the channel", DUP_OVER, {("crashed", "rolled_back")}),
    ("hunts for the runner's secrets", HUNTS, None),
    ("patches all that a result needs", PATCHES, None),
    ("deletes all builtins", NO_BUILTINS, None),
    ("deletes all names", NO_NAMES, None),
    ("deletes all modules", NO_MODULES, None),
    ("reads what the warden writes", TAKES_FRAMES, None),
    ("leaves code for the next run", SEALS, {("ok", "kept")}),
]


# They take apart what the next cell of their own session would run with.
SABOTAGE = pytest.mark.sabotage("its interpreter is broken, or ends later")


def rows():
    for row in ENDS:
        marks = [SABOTAGE] if row[2] is None or "later" in row[0] else []
        yield pytest.param(*row, id=row[0], marks=marks)


@pytest.mark.parametrize("name, code, ends", rows())
def test_it_ends_as_it_should(attacker, name, code, ends):
    attacker.run("mark = 1")
    done = attacker.run(code, cell_ms=3000)
    assert ends is None or (done.status, done.state) in ends, done
    # The last thing that a session whose interpreter is broken can do is to
    # be rolled back: by the next cell, which says so, or by its limit.
    then = attacker.run("1 + 1", cell_ms=1000)
    if (then.status, then.result) != ("ok", "2"):
        assert ends is None or "later" in name, then
        assert then.state in ("kept", "rolled_back", "lost"), then
        assert then.reason or then.state == "kept", "it says why"


def test_a_child_has_no_say(attacker):
    done = attacker.run("pid = os.fork()\nos.getpid() == 2")
    assert (done.status, done.result) == ("ok", "True")
    assert attacker.run("pid > 0").result == "True"


SAYS = """
said = 0
def say():
    global said
    while True:
        print('mine', flush=True)
        said += 1
        time.sleep(0.01)
threading.Thread(target=say, daemon=True).start()
"""


def test_a_thread_prints_into_the_next_cell_and_no_further(attacker, neighbour):
    attacker.run(SAYS)
    assert neighbour.run("1").stdout == ""
    done = attacker.run("until = said + 2\nwhile said < until: time.sleep(0.01)")
    assert set(done.stdout.split()) == {"mine"}
