mod states;
