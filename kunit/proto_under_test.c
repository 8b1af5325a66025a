// SPDX-License-Identifier: GPL-2.0
/*
 * The pure core, once, for the suites beside this file.
 *
 * Owns nothing: it pulls in the sources of proto/ so that the suites can link
 * to them without any export, and without the driver. Built into sroce_kunit
 * only. A name that is static in two units of proto/ does not compile here.
 */
#include "proto/access.c"
#include "proto/aeth.c"
#include "proto/dcqcn.c"
#include "proto/dcqcn_param.c"
#include "proto/hdr.c"
#include "proto/icrc.c"
#include "proto/opcode.c"
#include "proto/qpstate.c"
#include "proto/rehash.c"
#include "proto/rtt.c"
#include "proto/window.c"

#include <linux/module.h>

MODULE_DESCRIPTION("Tests of the protocol core of sroce");
MODULE_LICENSE("GPL");
