#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Lets a User-Mode Linux build of the kernel tree $1 use the x86 CRC routines.
# The tree forbids it, which leaves UML with a byte-wise crc32_le that hides
# everything else a speed run could show. Kernel code of a UML guest is code of
# an ordinary host process, so the vector registers are its own to use.
#
# Called by scripts/lab on its own unpacked copy of the tree, once.
set -eu
cd "$1"

# shellcheck disable=SC2016 # the dollar signs are make's
# change FILE PATTERN SED-COMMANDS: refuses a tree that looks different.
change()
{
	grep -q "$2" "$1" || { echo "$1: no line matches $2" >&2; exit 1; }
	sed -i "$3" "$1"
}

change lib/crc/Kconfig 'depends on !UML' \
	'/^config CRC_OPTIMIZATIONS/,/^config /{/depends on !UML/d}'
change lib/crc/Kconfig '^config CRC32_ARCH' \
	'/^config CRC32_ARCH/,/^config /s/^\tdefault y if X86$/&\n\tdefault y if UML/'
change lib/crc/Kconfig 'default y if X86_64' \
	's/^\tdefault y if X86_64$/& \&\& !UML/'
change lib/crc/Makefile 'CFLAGS_crc32-main.o += ' \
	's|^CFLAGS_crc32-main.o += .*|&\nCFLAGS_crc32-main.o += $(if $(CONFIG_UML),-I$(src)/x86)|'
change lib/crc/Makefile 'x86/crc32-pclmul.o' \
	's|^crc32-$(CONFIG_X86) += .*|&\ncrc32-$(CONFIG_UML) += x86/crc32-pclmul.o|'

# The three names that exist only where the kernel itself owns the FPU. Where
# the host offers AVX it has also switched the registers on.
change lib/crc/x86/crc-pclmul-template.h 'include <asm/simd.h>' \
	'/include <asm\/simd.h>/a\
#ifdef CONFIG_UML\
#include <asm/cpufeature.h>\
#include <asm/fpu/api.h>\
#define XFEATURE_MASK_YMM 0\
#define XFEATURE_MASK_AVX512 0\
#define cpu_has_xfeatures(mask, name) true\
#endif'
