# SPDX-License-Identifier: GPL-2.0
#
# What people type. The module itself is described by the Kbuild files, which
# the kernel's own build reads.

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
KMAKE = $(MAKE) -C $(KDIR) M=$(CURDIR)

.PHONY: modules modules_install install install-boot uninstall-boot clean
.PHONY: have-kdir help
.PHONY: run test check bench accept experiment-dcqcn lab lab-clean

modules: have-kdir
	$(KMAKE) modules

modules_install: modules
	$(KMAKE) modules_install

install: modules_install install-boot
	depmod -a $(KVER)

# What brings devices back after a boot; packages set other directories.
DESTDIR =
RULESDIR ?= /usr/local/lib/udev/rules.d
UNITDIR ?= /usr/local/lib/systemd/system

install-boot:
	install -D -m 644 scripts/boot/76-sroce.rules \
		$(DESTDIR)$(RULESDIR)/76-sroce.rules
	install -D -m 644 scripts/boot/sroce@.service \
		$(DESTDIR)$(UNITDIR)/sroce@.service

uninstall-boot:
	rm -f $(DESTDIR)$(RULESDIR)/76-sroce.rules \
		$(DESTDIR)$(UNITDIR)/sroce@.service

clean:
	@if [ -e $(KDIR)/Makefile ]; then $(KMAKE) clean; fi
	rm -rf out

have-kdir:
	@if [ ! -e $(KDIR)/Makefile ]; then \
		echo "There is no kernel build tree at $(KDIR)."; \
		echo "Install the headers of the kernel you build for" \
		     "(Debian, Ubuntu: linux-headers-$(KVER); Fedora, RHEL:" \
		     "kernel-devel-$(KVER); SUSE: kernel-default-devel)," \
		     "or name another tree with KDIR=."; \
		exit 1; \
	fi >&2

# The programs below make the machines they need in a cache directory of their
# own, and need root.

run:
	scripts/run-demo

test:
	scripts/run-tests $(TESTS)

check:
	scripts/check $(STEPS)

bench:
	scripts/bench $(ARGS)

accept:
	scripts/run-accept $(if $(SUITE),--suite '$(SUITE)') $(ARGS)

experiment-dcqcn:
	scripts/experiment-dcqcn $(ARGS)

lab:
	scripts/lab make

lab-clean:
	scripts/lab clean

help:
	@echo "  make                    sroce.ko for the kernel at KDIR"
	@echo "                          ($(KDIR))"
	@echo "  make install            install it there (as root)"
	@echo "  make install-boot       only the udev rule and the systemd unit"
	@echo "  make clean              remove what was built and out/"
	@echo "  make run                perftest between two sroce devices in a"
	@echo "                          virtual machine; prints tables"
	@echo "  make test [TESTS=..]    every test suite (scripts/run-tests --list)"
	@echo "  make check [STEPS=..]   the style and correctness gate"
	@echo "  make bench              speed, beside rdma_rxe"
	@echo "  make accept [SUITE=..]  other people's suites, beside rdma_rxe"
	@echo "  make experiment-dcqcn   congestion control in simulated networks"
	@echo "  make lab                make the test machines"
	@echo "  make lab-clean          remove them"
