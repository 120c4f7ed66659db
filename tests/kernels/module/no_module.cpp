// A library without the module's symbol.
extern "C" int ulpscope_something_else();
extern "C" int ulpscope_something_else() { return 0; }
