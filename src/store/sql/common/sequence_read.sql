SELECT run, task_run, attempt FROM sequence WHERE "only" = 1
