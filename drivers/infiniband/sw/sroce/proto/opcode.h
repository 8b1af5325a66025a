/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Wire opcodes and the sender's operations, as tables.
 *
 * Owns what an opcode means: its header set, its place in a message, whether it
 * requests or responds. Read-only data and pure functions, any context. Called
 * by hdr.c, the roles and the work queues. Must not know packets or QPs: what
 * differs between opcodes is a flag here, not a branch there.
 */
#ifndef SROCE_PROTO_OPCODE_H
#define SROCE_PROTO_OPCODE_H

#include <linux/bits.h>
#include <linux/types.h>

/**
 * enum sroce_qp_type - transport services
 * @SROCE_QPT_RC: reliable connection
 * @SROCE_QPT_UC: unreliable connection
 * @SROCE_QPT_UD: unreliable datagram
 * @SROCE_QPT_N: number of types; in the opcode table: belongs to no service
 */
enum sroce_qp_type {
	SROCE_QPT_RC,
	SROCE_QPT_UC,
	SROCE_QPT_UD,
	SROCE_QPT_N,
};

/**
 * enum sroce_op - operations of a send queue
 * @SROCE_OP_SEND: SEND
 * @SROCE_OP_SEND_IMM: SEND with immediate data
 * @SROCE_OP_SEND_INV: SEND that invalidates a remote key
 * @SROCE_OP_WRITE: RDMA WRITE
 * @SROCE_OP_WRITE_IMM: RDMA WRITE with immediate data
 * @SROCE_OP_READ: RDMA READ
 * @SROCE_OP_CAS: atomic compare and swap
 * @SROCE_OP_FADD: atomic fetch and add
 * @SROCE_OP_ATOMIC_WRITE: WRITE of 8 bytes at once
 * @SROCE_OP_FLUSH: flush of remote memory
 * @SROCE_OP_LOCAL_INV: local: invalidate a key
 * @SROCE_OP_REG_MR: local: register memory
 * @SROCE_OP_BIND_MW: local: bind a memory window
 * @SROCE_OP_N: number of operations
 */
enum sroce_op {
	SROCE_OP_SEND,
	SROCE_OP_SEND_IMM,
	SROCE_OP_SEND_INV,
	SROCE_OP_WRITE,
	SROCE_OP_WRITE_IMM,
	SROCE_OP_READ,
	SROCE_OP_CAS,
	SROCE_OP_FADD,
	SROCE_OP_ATOMIC_WRITE,
	SROCE_OP_FLUSH,
	SROCE_OP_LOCAL_INV,
	SROCE_OP_REG_MR,
	SROCE_OP_BIND_MW,
	SROCE_OP_N,
};

/* Wire opcodes (IBA table 38, A17, A19); UC repeats RC's at 0x20. */
#define SROCE_OPCODE_RC_SEND_FIRST		0x00
#define SROCE_OPCODE_RC_SEND_MIDDLE		0x01
#define SROCE_OPCODE_RC_SEND_LAST		0x02
#define SROCE_OPCODE_RC_SEND_LAST_IMM		0x03
#define SROCE_OPCODE_RC_SEND_ONLY		0x04
#define SROCE_OPCODE_RC_SEND_ONLY_IMM		0x05
#define SROCE_OPCODE_RC_WRITE_FIRST		0x06
#define SROCE_OPCODE_RC_WRITE_MIDDLE		0x07
#define SROCE_OPCODE_RC_WRITE_LAST		0x08
#define SROCE_OPCODE_RC_WRITE_LAST_IMM		0x09
#define SROCE_OPCODE_RC_WRITE_ONLY		0x0a
#define SROCE_OPCODE_RC_WRITE_ONLY_IMM		0x0b
#define SROCE_OPCODE_RC_READ_REQUEST		0x0c
#define SROCE_OPCODE_RC_READ_RESP_FIRST		0x0d
#define SROCE_OPCODE_RC_READ_RESP_MIDDLE	0x0e
#define SROCE_OPCODE_RC_READ_RESP_LAST		0x0f
#define SROCE_OPCODE_RC_READ_RESP_ONLY		0x10
#define SROCE_OPCODE_RC_ACK			0x11
#define SROCE_OPCODE_RC_ATOMIC_ACK		0x12
#define SROCE_OPCODE_RC_CAS			0x13
#define SROCE_OPCODE_RC_FADD			0x14
#define SROCE_OPCODE_RC_SEND_LAST_INV		0x16
#define SROCE_OPCODE_RC_SEND_ONLY_INV		0x17
#define SROCE_OPCODE_RC_FLUSH			0x1c
#define SROCE_OPCODE_RC_ATOMIC_WRITE		0x1d
#define SROCE_OPCODE_UC_SEND_FIRST		0x20
#define SROCE_OPCODE_UC_SEND_MIDDLE		0x21
#define SROCE_OPCODE_UC_SEND_LAST		0x22
#define SROCE_OPCODE_UC_SEND_LAST_IMM		0x23
#define SROCE_OPCODE_UC_SEND_ONLY		0x24
#define SROCE_OPCODE_UC_SEND_ONLY_IMM		0x25
#define SROCE_OPCODE_UC_WRITE_FIRST		0x26
#define SROCE_OPCODE_UC_WRITE_MIDDLE		0x27
#define SROCE_OPCODE_UC_WRITE_LAST		0x28
#define SROCE_OPCODE_UC_WRITE_LAST_IMM		0x29
#define SROCE_OPCODE_UC_WRITE_ONLY		0x2a
#define SROCE_OPCODE_UC_WRITE_ONLY_IMM		0x2b
#define SROCE_OPCODE_UD_SEND_ONLY		0x64
#define SROCE_OPCODE_UD_SEND_ONLY_IMM		0x65
#define SROCE_OPCODE_CNP			0x81
#define SROCE_OPCODE_NONE			0xff	/* never on the wire */

/* What an opcode is; struct sroce_opcode_info.flags */
#define SROCE_OPF_REQ		BIT(0)	/* goes to a responder */
#define SROCE_OPF_RESP		BIT(1)	/* goes to a requester */
#define SROCE_OPF_SEND		BIT(2)
#define SROCE_OPF_WRITE		BIT(3)
#define SROCE_OPF_READ		BIT(4)	/* request or response */
#define SROCE_OPF_ATOMIC	BIT(5)	/* CAS, FADD or their response */
#define SROCE_OPF_FLUSH		BIT(6)
#define SROCE_OPF_ATOMIC_WRITE	BIT(7)
#define SROCE_OPF_CNP		BIT(8)
#define SROCE_OPF_FIRST		BIT(9)	/* begins a message */
#define SROCE_OPF_MIDDLE	BIT(10)
#define SROCE_OPF_LAST		BIT(11)	/* ends a message */
#define SROCE_OPF_ONLY		(SROCE_OPF_FIRST | SROCE_OPF_LAST)
#define SROCE_OPF_IMM		BIT(12)	/* carries ImmDt */
#define SROCE_OPF_INV		BIT(13)	/* carries IETH */
#define SROCE_OPF_RETH		BIT(14)
#define SROCE_OPF_AETH		BIT(15)
#define SROCE_OPF_ATOMICETH	BIT(16)
#define SROCE_OPF_ATOMICACK	BIT(17)
#define SROCE_OPF_DETH		BIT(18)
#define SROCE_OPF_FETH		BIT(19)
#define SROCE_OPF_PAYLOAD	BIT(20)	/* may carry payload */

/* Requests that have an answer of their own in place of an ACK. */
#define SROCE_OPF_ANSWERED	(SROCE_OPF_READ | SROCE_OPF_ATOMIC | \
				 SROCE_OPF_FLUSH | SROCE_OPF_ATOMIC_WRITE)

/* The kind of message that a request belongs to. */
#define SROCE_OPF_KIND_MASK	(SROCE_OPF_SEND | SROCE_OPF_WRITE | \
				 SROCE_OPF_READ | SROCE_OPF_ATOMIC | \
				 SROCE_OPF_FLUSH | SROCE_OPF_ATOMIC_WRITE)

/**
 * struct sroce_opcode_info - what one wire opcode means
 * @flags: SROCE_OPF_*
 * @hdr_bytes: bytes of all transport headers, BTH included; never 0
 * @type: enum sroce_qp_type it belongs to, SROCE_QPT_N for the CNP
 * @off_deth: bytes from the BTH's begin to the DETH; 0: there is none.
 *	The other offsets alike.
 * @off_reth: RETH
 * @off_aeth: AETH
 * @off_atomic: AtomicETH
 * @off_atomicack: AtomicAckETH
 * @off_imm: ImmDt
 * @off_ieth: IETH
 * @off_feth: FETH
 */
struct sroce_opcode_info {
	u32 flags;
	u8 hdr_bytes;
	u8 type;
	u8 off_deth;
	u8 off_reth;
	u8 off_aeth;
	u8 off_atomic;
	u8 off_atomicack;
	u8 off_imm;
	u8 off_ieth;
	u8 off_feth;
};

/* What an operation needs; struct sroce_op_info.flags */
#define SROCE_OPI_LOCAL		BIT(0)	/* sends nothing */
#define SROCE_OPI_RD_ATOMIC	BIT(1)	/* uses one of max_rd_atomic */
#define SROCE_OPI_REMOTE_RQ	BIT(2)	/* takes a receive WQE of the peer */
#define SROCE_OPI_PAYLOAD	BIT(3)	/* sends the bytes of its SGEs */
#define SROCE_OPI_SCATTER	BIT(4)	/* a response is stored in its SGEs */
#define SROCE_OPI_RKEY		BIT(5)	/* names remote memory */
#define SROCE_OPI_SINGLE	BIT(6)	/* the request is always one packet */
#define SROCE_OPI_IMM		BIT(7)	/* carries immediate data */
#define SROCE_OPI_INV		BIT(8)	/* carries a key to invalidate */

/**
 * struct sroce_op_info - what one operation of a send queue needs
 * @flags: SROCE_OPI_*
 * @qp_types: BIT(enum sroce_qp_type) of the services that have it
 */
struct sroce_op_info {
	u16 flags;
	u8 qp_types;
};

extern const struct sroce_opcode_info sroce_opcode_table[256];
extern const struct sroce_op_info sroce_op_table[SROCE_OP_N];

/**
 * sroce_opcode_info() - look up a wire opcode
 * @opcode: byte 0 of the BTH, any value
 *
 * Context: Any.
 * Return: its row, or NULL when there is no such opcode.
 */
static inline const struct sroce_opcode_info *sroce_opcode_info(u8 opcode)
{
	const struct sroce_opcode_info *info = &sroce_opcode_table[opcode];

	return info->hdr_bytes ? info : NULL;
}

/**
 * sroce_op_info() - look up an operation of a send queue
 * @op: operation, any value
 *
 * Context: Any.
 * Return: its row, or NULL when there is no such operation.
 */
static inline const struct sroce_op_info *sroce_op_info(enum sroce_op op)
{
	return op < SROCE_OP_N ? &sroce_op_table[op] : NULL;
}

int sroce_opcode_pick(enum sroce_qp_type type, enum sroce_op op,
		      bool first, bool last);
bool sroce_opcode_follows(u8 prev, u8 next);

#endif /* SROCE_PROTO_OPCODE_H */
