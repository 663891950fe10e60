// LAPMODES_ISA names the namespace of everything that is compiled once for each instruction set, so that the linker
// never takes a function of one set for that of another. The build defines it where it sets the compiler's options for
// an instruction set; elsewhere the code is for any processor.
#pragma once

#ifndef LAPMODES_ISA
#define LAPMODES_ISA portable
#endif
