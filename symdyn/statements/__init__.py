"""What a result can state, where, and under which hypotheses; and the rules by which facts give a conclusion."""
