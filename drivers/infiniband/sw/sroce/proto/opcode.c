// SPDX-License-Identifier: GPL-2.0
/*
 * Wire opcodes and the sender's operations, as tables; see opcode.h.
 *
 * Owns three read-only tables: what each wire opcode means, which one a sender
 * uses where in a message, and what each operation needs. Any context. Must not
 * know packets or QPs.
 */
#include "opcode.h"

#include <linux/build_bug.h>
#include <linux/errno.h>

#define SEND_REQ	(SROCE_OPF_REQ | SROCE_OPF_SEND | SROCE_OPF_PAYLOAD)
#define WRITE_REQ	(SROCE_OPF_REQ | SROCE_OPF_WRITE | SROCE_OPF_PAYLOAD)
#define READ_RESP	(SROCE_OPF_RESP | SROCE_OPF_READ | SROCE_OPF_PAYLOAD)

/* A row without hdr_bytes is an opcode that does not exist. */
const struct sroce_opcode_info sroce_opcode_table[256] = {
	[SROCE_OPCODE_RC_SEND_FIRST] = {
		.flags = SEND_REQ | SROCE_OPF_FIRST,
		.hdr_bytes = 12, .type = SROCE_QPT_RC,
	},
	[SROCE_OPCODE_RC_SEND_MIDDLE] = {
		.flags = SEND_REQ | SROCE_OPF_MIDDLE,
		.hdr_bytes = 12, .type = SROCE_QPT_RC,
	},
	[SROCE_OPCODE_RC_SEND_LAST] = {
		.flags = SEND_REQ | SROCE_OPF_LAST,
		.hdr_bytes = 12, .type = SROCE_QPT_RC,
	},
	[SROCE_OPCODE_RC_SEND_LAST_IMM] = {
		.flags = SEND_REQ | SROCE_OPF_LAST | SROCE_OPF_IMM,
		.hdr_bytes = 16, .type = SROCE_QPT_RC,
		.off_imm = 12,
	},
	[SROCE_OPCODE_RC_SEND_ONLY] = {
		.flags = SEND_REQ | SROCE_OPF_ONLY,
		.hdr_bytes = 12, .type = SROCE_QPT_RC,
	},
	[SROCE_OPCODE_RC_SEND_ONLY_IMM] = {
		.flags = SEND_REQ | SROCE_OPF_ONLY | SROCE_OPF_IMM,
		.hdr_bytes = 16, .type = SROCE_QPT_RC,
		.off_imm = 12,
	},
	[SROCE_OPCODE_RC_WRITE_FIRST] = {
		.flags = WRITE_REQ | SROCE_OPF_FIRST | SROCE_OPF_RETH,
		.hdr_bytes = 28, .type = SROCE_QPT_RC,
		.off_reth = 12,
	},
	[SROCE_OPCODE_RC_WRITE_MIDDLE] = {
		.flags = WRITE_REQ | SROCE_OPF_MIDDLE,
		.hdr_bytes = 12, .type = SROCE_QPT_RC,
	},
	[SROCE_OPCODE_RC_WRITE_LAST] = {
		.flags = WRITE_REQ | SROCE_OPF_LAST,
		.hdr_bytes = 12, .type = SROCE_QPT_RC,
	},
	[SROCE_OPCODE_RC_WRITE_LAST_IMM] = {
		.flags = WRITE_REQ | SROCE_OPF_LAST | SROCE_OPF_IMM,
		.hdr_bytes = 16, .type = SROCE_QPT_RC,
		.off_imm = 12,
	},
	[SROCE_OPCODE_RC_WRITE_ONLY] = {
		.flags = WRITE_REQ | SROCE_OPF_ONLY | SROCE_OPF_RETH,
		.hdr_bytes = 28, .type = SROCE_QPT_RC,
		.off_reth = 12,
	},
	[SROCE_OPCODE_RC_WRITE_ONLY_IMM] = {
		.flags = WRITE_REQ | SROCE_OPF_ONLY | SROCE_OPF_RETH |
			 SROCE_OPF_IMM,
		.hdr_bytes = 32, .type = SROCE_QPT_RC,
		.off_reth = 12, .off_imm = 28,
	},
	[SROCE_OPCODE_RC_READ_REQUEST] = {
		.flags = SROCE_OPF_REQ | SROCE_OPF_READ | SROCE_OPF_ONLY |
			 SROCE_OPF_RETH,
		.hdr_bytes = 28, .type = SROCE_QPT_RC,
		.off_reth = 12,
	},
	[SROCE_OPCODE_RC_READ_RESP_FIRST] = {
		.flags = READ_RESP | SROCE_OPF_FIRST | SROCE_OPF_AETH,
		.hdr_bytes = 16, .type = SROCE_QPT_RC,
		.off_aeth = 12,
	},
	[SROCE_OPCODE_RC_READ_RESP_MIDDLE] = {
		.flags = READ_RESP | SROCE_OPF_MIDDLE,
		.hdr_bytes = 12, .type = SROCE_QPT_RC,
	},
	[SROCE_OPCODE_RC_READ_RESP_LAST] = {
		.flags = READ_RESP | SROCE_OPF_LAST | SROCE_OPF_AETH,
		.hdr_bytes = 16, .type = SROCE_QPT_RC,
		.off_aeth = 12,
	},
	[SROCE_OPCODE_RC_READ_RESP_ONLY] = {
		.flags = READ_RESP | SROCE_OPF_ONLY | SROCE_OPF_AETH,
		.hdr_bytes = 16, .type = SROCE_QPT_RC,
		.off_aeth = 12,
	},
	[SROCE_OPCODE_RC_ACK] = {
		.flags = SROCE_OPF_RESP | SROCE_OPF_ONLY | SROCE_OPF_AETH,
		.hdr_bytes = 16, .type = SROCE_QPT_RC,
		.off_aeth = 12,
	},
	[SROCE_OPCODE_RC_ATOMIC_ACK] = {
		.flags = SROCE_OPF_RESP | SROCE_OPF_ATOMIC | SROCE_OPF_ONLY |
			 SROCE_OPF_AETH | SROCE_OPF_ATOMICACK,
		.hdr_bytes = 24, .type = SROCE_QPT_RC,
		.off_aeth = 12, .off_atomicack = 16,
	},
	[SROCE_OPCODE_RC_CAS] = {
		.flags = SROCE_OPF_REQ | SROCE_OPF_ATOMIC | SROCE_OPF_ONLY |
			 SROCE_OPF_ATOMICETH,
		.hdr_bytes = 40, .type = SROCE_QPT_RC,
		.off_atomic = 12,
	},
	[SROCE_OPCODE_RC_FADD] = {
		.flags = SROCE_OPF_REQ | SROCE_OPF_ATOMIC | SROCE_OPF_ONLY |
			 SROCE_OPF_ATOMICETH,
		.hdr_bytes = 40, .type = SROCE_QPT_RC,
		.off_atomic = 12,
	},
	[SROCE_OPCODE_RC_SEND_LAST_INV] = {
		.flags = SEND_REQ | SROCE_OPF_LAST | SROCE_OPF_INV,
		.hdr_bytes = 16, .type = SROCE_QPT_RC,
		.off_ieth = 12,
	},
	[SROCE_OPCODE_RC_SEND_ONLY_INV] = {
		.flags = SEND_REQ | SROCE_OPF_ONLY | SROCE_OPF_INV,
		.hdr_bytes = 16, .type = SROCE_QPT_RC,
		.off_ieth = 12,
	},
	[SROCE_OPCODE_RC_FLUSH] = {
		.flags = SROCE_OPF_REQ | SROCE_OPF_FLUSH | SROCE_OPF_ONLY |
			 SROCE_OPF_FETH | SROCE_OPF_RETH,
		.hdr_bytes = 32, .type = SROCE_QPT_RC,
		.off_feth = 12, .off_reth = 16,
	},
	[SROCE_OPCODE_RC_ATOMIC_WRITE] = {
		.flags = SROCE_OPF_REQ | SROCE_OPF_ATOMIC_WRITE |
			 SROCE_OPF_ONLY | SROCE_OPF_PAYLOAD | SROCE_OPF_RETH,
		.hdr_bytes = 28, .type = SROCE_QPT_RC,
		.off_reth = 12,
	},
	[SROCE_OPCODE_UC_SEND_FIRST] = {
		.flags = SEND_REQ | SROCE_OPF_FIRST,
		.hdr_bytes = 12, .type = SROCE_QPT_UC,
	},
	[SROCE_OPCODE_UC_SEND_MIDDLE] = {
		.flags = SEND_REQ | SROCE_OPF_MIDDLE,
		.hdr_bytes = 12, .type = SROCE_QPT_UC,
	},
	[SROCE_OPCODE_UC_SEND_LAST] = {
		.flags = SEND_REQ | SROCE_OPF_LAST,
		.hdr_bytes = 12, .type = SROCE_QPT_UC,
	},
	[SROCE_OPCODE_UC_SEND_LAST_IMM] = {
		.flags = SEND_REQ | SROCE_OPF_LAST | SROCE_OPF_IMM,
		.hdr_bytes = 16, .type = SROCE_QPT_UC,
		.off_imm = 12,
	},
	[SROCE_OPCODE_UC_SEND_ONLY] = {
		.flags = SEND_REQ | SROCE_OPF_ONLY,
		.hdr_bytes = 12, .type = SROCE_QPT_UC,
	},
	[SROCE_OPCODE_UC_SEND_ONLY_IMM] = {
		.flags = SEND_REQ | SROCE_OPF_ONLY | SROCE_OPF_IMM,
		.hdr_bytes = 16, .type = SROCE_QPT_UC,
		.off_imm = 12,
	},
	[SROCE_OPCODE_UC_WRITE_FIRST] = {
		.flags = WRITE_REQ | SROCE_OPF_FIRST | SROCE_OPF_RETH,
		.hdr_bytes = 28, .type = SROCE_QPT_UC,
		.off_reth = 12,
	},
	[SROCE_OPCODE_UC_WRITE_MIDDLE] = {
		.flags = WRITE_REQ | SROCE_OPF_MIDDLE,
		.hdr_bytes = 12, .type = SROCE_QPT_UC,
	},
	[SROCE_OPCODE_UC_WRITE_LAST] = {
		.flags = WRITE_REQ | SROCE_OPF_LAST,
		.hdr_bytes = 12, .type = SROCE_QPT_UC,
	},
	[SROCE_OPCODE_UC_WRITE_LAST_IMM] = {
		.flags = WRITE_REQ | SROCE_OPF_LAST | SROCE_OPF_IMM,
		.hdr_bytes = 16, .type = SROCE_QPT_UC,
		.off_imm = 12,
	},
	[SROCE_OPCODE_UC_WRITE_ONLY] = {
		.flags = WRITE_REQ | SROCE_OPF_ONLY | SROCE_OPF_RETH,
		.hdr_bytes = 28, .type = SROCE_QPT_UC,
		.off_reth = 12,
	},
	[SROCE_OPCODE_UC_WRITE_ONLY_IMM] = {
		.flags = WRITE_REQ | SROCE_OPF_ONLY | SROCE_OPF_RETH |
			 SROCE_OPF_IMM,
		.hdr_bytes = 32, .type = SROCE_QPT_UC,
		.off_reth = 12, .off_imm = 28,
	},
	[SROCE_OPCODE_UD_SEND_ONLY] = {
		.flags = SEND_REQ | SROCE_OPF_ONLY | SROCE_OPF_DETH,
		.hdr_bytes = 20, .type = SROCE_QPT_UD,
		.off_deth = 12,
	},
	[SROCE_OPCODE_UD_SEND_ONLY_IMM] = {
		.flags = SEND_REQ | SROCE_OPF_ONLY | SROCE_OPF_DETH |
			 SROCE_OPF_IMM,
		.hdr_bytes = 24, .type = SROCE_QPT_UD,
		.off_deth = 12, .off_imm = 20,
	},
	[SROCE_OPCODE_CNP] = {
		.flags = SROCE_OPF_CNP | SROCE_OPF_ONLY,
		.hdr_bytes = 28, .type = SROCE_QPT_N,
	},
};

/* The four places a packet can have in its message, as pick_table has them. */
#define PLACE_MIDDLE	0
#define PLACE_FIRST	1
#define PLACE_LAST	2
#define PLACE_ONLY	3
#define PLACE_N		4

static_assert((PLACE_FIRST | PLACE_LAST) == PLACE_ONLY && PLACE_MIDDLE == 0);

/* Tells RC SEND_FIRST, which is 0, from an entry that is not there. */
#define WIRE_EXISTS	0x100
#define WIRE(opcode)	(WIRE_EXISTS | SROCE_OPCODE_##opcode)

static const u16 pick_table[SROCE_QPT_N][SROCE_OP_N][PLACE_N] = {
	[SROCE_QPT_RC] = {
		[SROCE_OP_SEND] = {
			[PLACE_FIRST] = WIRE(RC_SEND_FIRST),
			[PLACE_MIDDLE] = WIRE(RC_SEND_MIDDLE),
			[PLACE_LAST] = WIRE(RC_SEND_LAST),
			[PLACE_ONLY] = WIRE(RC_SEND_ONLY),
		},
		[SROCE_OP_SEND_IMM] = {
			[PLACE_FIRST] = WIRE(RC_SEND_FIRST),
			[PLACE_MIDDLE] = WIRE(RC_SEND_MIDDLE),
			[PLACE_LAST] = WIRE(RC_SEND_LAST_IMM),
			[PLACE_ONLY] = WIRE(RC_SEND_ONLY_IMM),
		},
		[SROCE_OP_SEND_INV] = {
			[PLACE_FIRST] = WIRE(RC_SEND_FIRST),
			[PLACE_MIDDLE] = WIRE(RC_SEND_MIDDLE),
			[PLACE_LAST] = WIRE(RC_SEND_LAST_INV),
			[PLACE_ONLY] = WIRE(RC_SEND_ONLY_INV),
		},
		[SROCE_OP_WRITE] = {
			[PLACE_FIRST] = WIRE(RC_WRITE_FIRST),
			[PLACE_MIDDLE] = WIRE(RC_WRITE_MIDDLE),
			[PLACE_LAST] = WIRE(RC_WRITE_LAST),
			[PLACE_ONLY] = WIRE(RC_WRITE_ONLY),
		},
		[SROCE_OP_WRITE_IMM] = {
			[PLACE_FIRST] = WIRE(RC_WRITE_FIRST),
			[PLACE_MIDDLE] = WIRE(RC_WRITE_MIDDLE),
			[PLACE_LAST] = WIRE(RC_WRITE_LAST_IMM),
			[PLACE_ONLY] = WIRE(RC_WRITE_ONLY_IMM),
		},
		[SROCE_OP_READ] = { [PLACE_ONLY] = WIRE(RC_READ_REQUEST) },
		[SROCE_OP_CAS] = { [PLACE_ONLY] = WIRE(RC_CAS) },
		[SROCE_OP_FADD] = { [PLACE_ONLY] = WIRE(RC_FADD) },
		[SROCE_OP_ATOMIC_WRITE] = {
			[PLACE_ONLY] = WIRE(RC_ATOMIC_WRITE),
		},
		[SROCE_OP_FLUSH] = { [PLACE_ONLY] = WIRE(RC_FLUSH) },
	},
	[SROCE_QPT_UC] = {
		[SROCE_OP_SEND] = {
			[PLACE_FIRST] = WIRE(UC_SEND_FIRST),
			[PLACE_MIDDLE] = WIRE(UC_SEND_MIDDLE),
			[PLACE_LAST] = WIRE(UC_SEND_LAST),
			[PLACE_ONLY] = WIRE(UC_SEND_ONLY),
		},
		[SROCE_OP_SEND_IMM] = {
			[PLACE_FIRST] = WIRE(UC_SEND_FIRST),
			[PLACE_MIDDLE] = WIRE(UC_SEND_MIDDLE),
			[PLACE_LAST] = WIRE(UC_SEND_LAST_IMM),
			[PLACE_ONLY] = WIRE(UC_SEND_ONLY_IMM),
		},
		[SROCE_OP_WRITE] = {
			[PLACE_FIRST] = WIRE(UC_WRITE_FIRST),
			[PLACE_MIDDLE] = WIRE(UC_WRITE_MIDDLE),
			[PLACE_LAST] = WIRE(UC_WRITE_LAST),
			[PLACE_ONLY] = WIRE(UC_WRITE_ONLY),
		},
		[SROCE_OP_WRITE_IMM] = {
			[PLACE_FIRST] = WIRE(UC_WRITE_FIRST),
			[PLACE_MIDDLE] = WIRE(UC_WRITE_MIDDLE),
			[PLACE_LAST] = WIRE(UC_WRITE_LAST_IMM),
			[PLACE_ONLY] = WIRE(UC_WRITE_ONLY_IMM),
		},
	},
	[SROCE_QPT_UD] = {
		[SROCE_OP_SEND] = { [PLACE_ONLY] = WIRE(UD_SEND_ONLY) },
		[SROCE_OP_SEND_IMM] = { [PLACE_ONLY] = WIRE(UD_SEND_ONLY_IMM) },
	},
};

#define TYPES_ALL	(BIT(SROCE_QPT_RC) | BIT(SROCE_QPT_UC) | \
			 BIT(SROCE_QPT_UD))
#define TYPES_CONNECTED	(BIT(SROCE_QPT_RC) | BIT(SROCE_QPT_UC))
#define TYPES_RC	BIT(SROCE_QPT_RC)

/*
 * ATOMIC WRITE and FLUSH are answered like a READ, from the responder's READ
 * and atomic resources, and so count against them (IBA A19).
 */
const struct sroce_op_info sroce_op_table[SROCE_OP_N] = {
	[SROCE_OP_SEND] = {
		.flags = SROCE_OPI_PAYLOAD | SROCE_OPI_REMOTE_RQ,
		.qp_types = TYPES_ALL,
	},
	[SROCE_OP_SEND_IMM] = {
		.flags = SROCE_OPI_PAYLOAD | SROCE_OPI_REMOTE_RQ |
			 SROCE_OPI_IMM,
		.qp_types = TYPES_ALL,
	},
	[SROCE_OP_SEND_INV] = {
		.flags = SROCE_OPI_PAYLOAD | SROCE_OPI_REMOTE_RQ |
			 SROCE_OPI_INV,
		.qp_types = TYPES_RC,
	},
	[SROCE_OP_WRITE] = {
		.flags = SROCE_OPI_PAYLOAD | SROCE_OPI_RKEY,
		.qp_types = TYPES_CONNECTED,
	},
	[SROCE_OP_WRITE_IMM] = {
		.flags = SROCE_OPI_PAYLOAD | SROCE_OPI_RKEY |
			 SROCE_OPI_REMOTE_RQ | SROCE_OPI_IMM,
		.qp_types = TYPES_CONNECTED,
	},
	[SROCE_OP_READ] = {
		.flags = SROCE_OPI_SCATTER | SROCE_OPI_RKEY |
			 SROCE_OPI_RD_ATOMIC | SROCE_OPI_SINGLE,
		.qp_types = TYPES_RC,
	},
	[SROCE_OP_CAS] = {
		.flags = SROCE_OPI_SCATTER | SROCE_OPI_RKEY |
			 SROCE_OPI_RD_ATOMIC | SROCE_OPI_SINGLE,
		.qp_types = TYPES_RC,
	},
	[SROCE_OP_FADD] = {
		.flags = SROCE_OPI_SCATTER | SROCE_OPI_RKEY |
			 SROCE_OPI_RD_ATOMIC | SROCE_OPI_SINGLE,
		.qp_types = TYPES_RC,
	},
	[SROCE_OP_ATOMIC_WRITE] = {
		.flags = SROCE_OPI_PAYLOAD | SROCE_OPI_RKEY |
			 SROCE_OPI_RD_ATOMIC | SROCE_OPI_SINGLE,
		.qp_types = TYPES_RC,
	},
	[SROCE_OP_FLUSH] = {
		.flags = SROCE_OPI_RKEY | SROCE_OPI_RD_ATOMIC |
			 SROCE_OPI_SINGLE,
		.qp_types = TYPES_RC,
	},
	[SROCE_OP_LOCAL_INV] = {
		.flags = SROCE_OPI_LOCAL | SROCE_OPI_INV,
		.qp_types = TYPES_CONNECTED,
	},
	[SROCE_OP_REG_MR] = {
		.flags = SROCE_OPI_LOCAL,
		.qp_types = TYPES_CONNECTED,
	},
	[SROCE_OP_BIND_MW] = {
		.flags = SROCE_OPI_LOCAL,
		.qp_types = TYPES_CONNECTED,
	},
};

/**
 * sroce_opcode_pick() - wire opcode of a packet to be sent
 * @type: service of the QP
 * @op: operation of the WQE
 * @first: the packet begins its message
 * @last: the packet ends its message
 *
 * Context: Any.
 * Return: the opcode, 0 to 255, or -EOPNOTSUPP when the service does not have
 * the operation, or the operation no packet in that place.
 */
int sroce_opcode_pick(enum sroce_qp_type type, enum sroce_op op,
		      bool first, bool last)
{
	u16 wire;

	if (type >= SROCE_QPT_N || op >= SROCE_OP_N)
		return -EOPNOTSUPP;
	wire = pick_table[type][op][(first ? PLACE_FIRST : 0) |
				    (last ? PLACE_LAST : 0)];
	return wire ? wire & 0xff : -EOPNOTSUPP;
}

/**
 * sroce_opcode_follows() - may one request follow another on a connected QP
 * @prev: opcode of the request before, SROCE_OPCODE_NONE for the first ever
 * @next: opcode of the request at hand
 *
 * A message once begun goes on in the same kind until its last packet, and
 * nothing else goes on without having begun (IBA 9.7.4.1.2, table 48).
 *
 * Context: Any.
 * Return: true if the order is legal; false for responses, datagrams and
 * opcodes of another service than @prev.
 */
bool sroce_opcode_follows(u8 prev, u8 next)
{
	const struct sroce_opcode_info *p = sroce_opcode_info(prev);
	const struct sroce_opcode_info *n = sroce_opcode_info(next);

	if (!n || !(n->flags & SROCE_OPF_REQ) || n->type == SROCE_QPT_UD)
		return false;
	if (!p)
		return n->flags & SROCE_OPF_FIRST;
	if (!(p->flags & SROCE_OPF_REQ) || p->type != n->type)
		return false;
	if (p->flags & SROCE_OPF_LAST)
		return n->flags & SROCE_OPF_FIRST;
	return !(n->flags & SROCE_OPF_FIRST) &&
	       !((p->flags ^ n->flags) & SROCE_OPF_KIND_MASK);
}

