"""Research beside the library: the paper's experiment and the demonstration with symbols."""
