"""The program of a supervisor: started by path, with as little of Python as can be.

``python -I -S _supervisor.py CORE PROGRAM ARGUMENT...`` loads the core from the file ``CORE``,
which does the work: it starts the worker, and ends all that came of it.
"""

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location


def main() -> None:
    """Watch over one worker until nothing of it is left, and tell the scheduler."""
    import signal

    # Who stops the scheduler may send these to all its processes; the scheduler says what follows.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(each, signal.SIG_IGN)
    path = sys.argv[1]
    spec = spec_from_file_location(
        "_mainspring", path, loader=ExtensionFileLoader("_mainspring", path)
    )
    assert spec is not None and spec.loader is not None
    core = module_from_spec(spec)
    spec.loader.exec_module(core)
    end = core.supervise(sys.argv[2:])
    if end is not None:
        import resource

        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = int((used.ru_utime + used.ru_stime) * 1000)
        kilobytes = used.ru_maxrss // (1024 if sys.platform == "darwin" else 1)
        try:
            core.report_end(end, spent, kilobytes)
        except OSError:
            pass  # the scheduler is gone, and nobody is left to be told


if __name__ == "__main__":
    main()
