// SPDX-License-Identifier: GPL-2.0
/*
 * A role waits for a page.
 *
 * Owns the work items that fill holes for the roles of a QP, and what a role
 * knows of them. Started and looked at under the role's lock with bottom halves
 * off; the work runs in process context, may take as long as the memory of a
 * process takes, and holds up nobody but its role. Called by the roles, and by
 * qp.c. Must not know packets.
 */
#include "pagein.h"

#include "engine.h"
#include "odp.h"
#include "sgl.h"

#include "compat.h"

/* Most bytes that come with one fault. */
#define PAGEIN_BYTES	0x200000ULL

static void fill(struct sroce_qp *qp, struct sroce_pagein *p)
{
	int err = sroce_odp_fault(qp->dev, p->key, p->va, p->bytes);

	p->failed = err;
	/* pairs with the acquire in the roles: they see what became of it */
	smp_store_release(&p->state, SROCE_PAGEIN_DONE);
}

static void tx_work(struct work_struct *work)
{
	struct sroce_qp *qp = container_of(work, struct sroce_qp, tx.page.work);

	fill(qp, &qp->tx.page);
	sroce_sched_kick_tx(qp);
}

static void rx_work(struct work_struct *work)
{
	struct sroce_qp *qp = container_of(work, struct sroce_qp, rx.page.work);

	fill(qp, &qp->rx.page);
	sroce_sched_kick_rx(qp);
}

/**
 * sroce_pagein_qp_init() - prepare a new QP
 * @qp: the QP
 *
 * Context: Process.
 */
void sroce_pagein_qp_init(struct sroce_qp *qp)
{
	INIT_WORK(&qp->tx.page.work, tx_work);
	INIT_WORK(&qp->rx.page.work, rx_work);
}

/**
 * sroce_pagein_qp_stop() - no fault of a QP is under way any more
 * @qp: the QP; dead, unpublished, a grace period ago
 *
 * Context: Process, may sleep.
 */
void sroce_pagein_qp_stop(struct sroce_qp *qp)
{
	cancel_work_sync(&qp->tx.page.work);
	cancel_work_sync(&qp->rx.page.work);
}

/**
 * sroce_pagein_start() - have a hole filled
 * @p: what the role waits for, role lock held
 * @key: region
 * @va: the byte that was not there
 * @bytes: bytes that are going to be needed from there on
 * @repeat: the peer has to be asked to repeat what was dropped
 *
 * Context: Bottom halves off.
 * Return: false when that hole cannot be filled, as the last attempt showed.
 */
bool sroce_pagein_start(struct sroce_pagein *p, u32 key, u64 va, u64 bytes,
			bool repeat)
{
	if (p->state == SROCE_PAGEIN_IDLE && p->failed) {
		p->failed = false;
		if (p->key == key && p->va == va)
			return false;
	}
	p->repeat |= repeat;
	if (p->state != SROCE_PAGEIN_IDLE)
		return true;
	p->key = key;
	p->va = va;
	p->bytes = min(bytes, PAGEIN_BYTES);
	p->state = SROCE_PAGEIN_BUSY;
	queue_work(sroce_compat_unbound_wq, &p->work);
	return true;
}

/**
 * sroce_pagein_start_sgl() - have the hole filled that a walk met
 * @p: what the role waits for, role lock held
 * @sgl: the walk; it stands where it met the hole
 * @repeat: the peer has to be asked to repeat what was dropped
 *
 * Context: Bottom halves off.
 * Return: false when that hole cannot be filled, as the last attempt showed.
 */
bool sroce_pagein_start_sgl(struct sroce_pagein *p, const struct sroce_sgl *sgl,
			    bool repeat)
{
	const struct sroce_sge *sge = &sgl->sge[sgl->idx];

	return sroce_pagein_start(p, sge->lkey, sge->addr + sgl->off,
				  sge->length - sgl->off, repeat);
}

/**
 * sroce_pagein_busy() - is the role waiting for a page
 * @p: what it waits for, role lock held
 *
 * Context: Any.
 * Return: true while it is.
 */
bool sroce_pagein_busy(const struct sroce_pagein *p)
{
	return READ_ONCE(p->state) == SROCE_PAGEIN_BUSY;
}

/**
 * sroce_pagein_resume() - take note that a fault is over
 * @p: what the role waits for, role lock held
 *
 * Context: Any.
 * Return: true when the peer has to be asked to repeat something now.
 */
bool sroce_pagein_resume(struct sroce_pagein *p)
{
	bool repeat = p->repeat;

	/* pairs with the release in fill() */
	if (smp_load_acquire(&p->state) != SROCE_PAGEIN_DONE)
		return false;
	p->state = SROCE_PAGEIN_IDLE;
	p->repeat = false;
	return repeat;
}
