-- Items of mapped tasks: task runs of their own beside the one that stands for them all, whose
-- map_index is -1. What an item is given is JSON text; a row without it is no item.
ALTER TABLE task_run ADD COLUMN item TEXT;
