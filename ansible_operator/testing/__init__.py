"""For tests of operators: real control planes, an operator as a process, a pytest plugin."""
