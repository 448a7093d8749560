# flatline. `make help` lists the targets. One build folder per flavour below $(B).

B       ?= build
CC      ?= cc
VERSION := 0.1.0

BUILD_PACKAGES := gcc pkg-config libncurses-dev libsqlite3-dev libcjson-dev libgit2-dev libzip-dev \
                  libyaml-dev libcsv-dev libpcre2-dev libutf8proc-dev libxxhash-dev libssl-dev \
                  zlib1g-dev libzstd-dev libsnappy-dev liblz4-dev libbrotli-dev
TEST_LIBS      := -lcmocka -lvterm -lutil
TEST_PACKAGES  := libcmocka-dev libvterm-dev tmux zip
CHECK_PACKAGES := cppcheck clang-format
PKG_CONFIG_NAMES := ncursesw sqlite3 libcjson libgit2 libzip yaml-0.1 libpcre2-8 libutf8proc \
                    libxxhash libcrypto zlib libzstd snappy liblz4 libbrotlidec

GOALS := $(or $(MAKECMDGOALS),all)
# Only these goals install what is missing; the others name the packages and stop.
INSTALLING := $(filter demo test check test-terminal test-fault lint,$(GOALS))
WANTED := $(BUILD_PACKAGES) $(if $(filter-out all demo install debug help clean,$(GOALS)),$(TEST_PACKAGES)) \
          $(if $(filter check lint,$(GOALS)),$(CHECK_PACKAGES))

WARNINGS := -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wold-style-definition -Wvla -Wformat=2 -Wwrite-strings -Wundef -Wpointer-arith \
            -Wcast-qual -Wswitch-enum -Wimplicit-fallthrough $(if $(WERROR),-Werror)
COMMON   := $(WARNINGS) -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DFLATLINE_VERSION='"$(VERSION)"' -pthread -MMD -MP

CFLAGS_release := -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
CFLAGS_debug   := -O0 -g -fPIE
CFLAGS_asan    := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined -DFLATLINE_ARENA_MALLOC -fPIE
CFLAGS_tsan    := -O1 -g -fsanitize=thread -fPIE
LDFLAGS_release := -pie
LDFLAGS_debug   := -pie
LDFLAGS_asan    := -pie -fsanitize=address,undefined
LDFLAGS_tsan    := -pie -fsanitize=thread
FLAVOURS := release debug asan tsan
# V=1 shows the commands instead of a word and a name
Q := $(if $(V),,@)

LIB_SRC  := $(wildcard core/*.c core/*/*.c core/*/*/*.c importers/*.c importers/*/*.c views/*.c)
TUI_SRC  := $(wildcard tui/*.c)
GEN_SRC  := gen/console_patterns.c gen/llamafactory_templates.c gen/config_page.c $(patsubst themes/%.theme,gen/theme_%.c,$(wildcard themes/*.theme))
HARNESS  := $(wildcard tests/harness/*.c)
UNIT_SRC := $(wildcard tests/unit/*.c)
UNITS    := $(patsubst tests/unit/%.c,%,$(UNIT_SRC))

.PHONY: all debug asan tsan demo test unit test-terminal test-fault check fuzz fuzz-replay golden bench \
        lint format install uninstall clean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:

# What was there when flags.mk was made is in $(B)/wanted; a goal that needs more looks again.
ifneq ($(filter-out help clean uninstall format,$(GOALS)),)
HAVE    := $(if $(wildcard $(B)/flags.mk),$(file <$(B)/wanted))
NEW     := $(filter-out $(HAVE),$(WANTED))
MISSING := $(if $(NEW),$(strip $(shell command -v dpkg-query >/dev/null || exit; for p in $(NEW); do \
             dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done)))
SUDO    := $(if $(MISSING),$(shell [ "$$(id -u)" = 0 ] || echo sudo))
APT     := $(SUDO) apt-get install -y $(MISSING)
ifneq ($(MISSING),)
MAY_INSTALL := $(if $(INSTALLING),$(if $(SUDO),$(shell sudo -n true 2>/dev/null && echo yes),yes))
ifeq ($(MAY_INSTALL),)
STOP := yes
endif
endif
endif

ifeq ($(STOP),yes)
# The line to type is all that is said: in question mode make ends with status 1 and is silent.
$(shell echo 'flatline: missing Debian packages, install them with: $(strip $(APT))' >&2)
MAKEFLAGS += -q
.PHONY: $(GOALS)
$(GOALS): ; @false
else
ifneq ($(filter-out help clean uninstall format,$(GOALS)),)
-include $(B)/flags.mk
endif

all: flatline                                   ## the program, -O2 (default)

# Made before anything is built. Written only when it says something new: everything depends on it.
$(B)/flags.mk: $(if $(NEW),FORCE)
	@mkdir -p $(B)
	@if [ -n '$(MISSING)' ]; then { $(SUDO) apt-get update -qq && \
	  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(MISSING); } >&2 || \
	  { echo 'flatline: this failed: $(strip $(APT))' >&2; exit 1; }; fi
	@{ echo "LIB_CFLAGS :=" $$(pkg-config --cflags $(PKG_CONFIG_NAMES)); \
	   echo "LIB_LIBS :=" $$(pkg-config --libs $(PKG_CONFIG_NAMES)) -lcsv -lm -pthread; } > $@.new
	@cmp -s $@.new $@ || cp $@.new $@
	@rm -f $@.new; echo '$(sort $(HAVE) $(WANTED))' > $(B)/wanted
FORCE:

# ---- data compiled in: bytes of a file as a C array ----
define EMBED
	@mkdir -p $(dir $@)
	@{ echo '/* generated from $< */'; echo '#include <stddef.h>'; \
	   echo 'extern const unsigned char $(1)[]; extern const size_t $(1)_bytes;'; \
	   echo 'const unsigned char $(1)[] = {'; od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g'; echo '0};'; \
	   echo 'const size_t $(1)_bytes = sizeof $(1) - 1;'; } > $@
endef
$(B)/gen/console_patterns.c: importers/run/console_patterns.tsv
	$(call EMBED,embedded_console_patterns)
$(B)/gen/llamafactory_templates.c: core/text/llamafactory_templates.jsonl
	$(call EMBED,embedded_llamafactory_templates)
$(B)/gen/config_page.c: tui/man/flatline-config.5
	$(call EMBED,embedded_config_page)
$(B)/gen/theme_%.c: themes/%.theme
	$(call EMBED,embedded_theme_$*)

define FLAVOUR
$(B)/$(1)/%.o: %.c $(B)/flags.mk
	@mkdir -p $$(@D)
	$(if $(V),,@echo "  cc $$<")
	$$(Q)$$(CC) $$(COMMON) $$(CFLAGS_$(1)) $$(LIB_CFLAGS) $$(CFLAGS) -c -o $$@ $$<
$(B)/$(1)/gen/%.o: $(B)/gen/%.c
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(COMMON) $$(CFLAGS_$(1)) -c -o $$@ $$<
$(B)/$(1)/libflatline.a: $(LIB_SRC:%.c=$(B)/$(1)/%.o) $(GEN_SRC:%.c=$(B)/$(1)/%.o)
	@rm -f $$@; ar rcs $$@ $$^
$(B)/$(1)/flatline: $(TUI_SRC:%.c=$(B)/$(1)/%.o) $(B)/$(1)/libflatline.a
	$(if $(V),,@echo "  ld $$@")
	$$(Q)$$(CC) $$(LDFLAGS_$(1)) -o $$@ $$^ $$(LIB_LIBS)
$(B)/$(1)/libharness.a: $(HARNESS:%.c=$(B)/$(1)/%.o)
	@rm -f $$@; ar rcs $$@ $$^
$(B)/$(1)/tests/unit/%: $(B)/$(1)/tests/unit/%.o $(filter-out $(B)/$(1)/tui/main.o,$(TUI_SRC:%.c=$(B)/$(1)/%.o)) $(B)/$(1)/libharness.a $(B)/$(1)/libflatline.a
	$(if $(V),,@echo "  ld $$@")
	$$(Q)$$(CC) $$(LDFLAGS_$(1)) -o $$@ $$^ $$(TEST_LIBS) $$(LIB_LIBS)
$(B)/$(1)/tests/bench/%: $(B)/$(1)/tests/bench/%.o $(B)/$(1)/libflatline.a
	$(if $(V),,@echo "  ld $$@")
	$$(Q)$$(CC) $$(LDFLAGS_$(1)) -o $$@ $$^ $$(LIB_LIBS)
endef
$(foreach f,$(FLAVOURS),$(eval $(call FLAVOUR,$(f))))
-include $(shell find $(B) -name '*.d' 2>/dev/null)

flatline: $(B)/release/flatline
	@cp -f $< $@ 2>/dev/null || echo "flatline: this folder cannot be written; the program is $<"

debug asan tsan: %: $(B)/%/flatline             ## the program in that flavour, in build/<flavour>/

demo: flatline                                  ## opens the broken run that ships with the project
	@B=$(B)/release sh tests/demo/run.sh

# F is the flavour, T one test program or runner.
F ?= release
test: flatline $(UNITS:%=$(B)/$(F)/tests/unit/%) ## the whole quick suite; ends with N passed, N failed
	@B=$(B)/$(F) sh tests/run.sh quick

unit: $(B)/$(F)/tests/unit/$(T)                 ## one unit program: make unit T=test_json
	@cd . && $<

test-terminal: flatline $(UNITS:%=$(B)/$(F)/tests/unit/%) ## pty and signals
	@B=$(B)/$(F) sh tests/run.sh terminal
test-fault: flatline $(UNITS:%=$(B)/$(F)/tests/unit/%) ## every N-th failure
	@B=$(B)/$(F) sh tests/run.sh fault

check: lint $(B)/asan/flatline $(UNITS:%=$(B)/asan/tests/unit/%) flatline ## lint, suite under sanitizers, terminal, fault
	@B=$(B)/asan sh tests/run.sh quick
	@B=$(B)/release sh tests/run.sh terminal fault

# clang's libFuzzer over one reader, until it is stopped or finds something: make fuzz T=pickle
# FUZZ="-max_total_time=300". A finding becomes a file in tests/fuzz/seeds/<T>/.
fuzz:                                           ## a fuzzer by hand: make fuzz T=json
	@$(MAKE) --no-print-directory B=$(B)/fuzz CC=clang CFLAGS=-fsanitize=fuzzer-no-link $(B)/fuzz/asan/libharness.a $(B)/fuzz/asan/libflatline.a
	@mkdir -p $(B)/fuzz/corpus/$(T)
	clang -I. -fsanitize=fuzzer,address,undefined -o $(B)/fuzz/$(T) tests/fuzz/fuzz_$(T).c $(B)/fuzz/asan/libharness.a $(B)/fuzz/asan/libflatline.a $(LIB_LIBS)
	$(B)/fuzz/$(T) $(FUZZ) $(B)/fuzz/corpus/$(T) tests/fuzz/seeds/$(T)
fuzz-replay: $(UNITS:%=$(B)/$(F)/tests/unit/%)  ## the fuzz seeds
	@B=$(B)/$(F) sh tests/run.sh fuzz
golden: flatline $(UNITS:%=$(B)/$(F)/tests/unit/%) ## accept new golden files (review the diff)
	@B=$(B)/$(F) GOLDEN=accept sh tests/run.sh quick
bench: flatline $(patsubst tests/bench/%.c,$(B)/release/tests/bench/%,$(wildcard tests/bench/*.c)) ## ratios to public tools
	@B=$(B)/release sh tests/bench/run.sh

lint:                                           ## directions, banned calls, headers alone, names, format
	@for l in tests/lint/*.sh; do sh $$l || exit 1; done
format:                                         ## clang-format in place
	@clang-format -i $(LIB_SRC) $(TUI_SRC) $(HARNESS) $(UNIT_SRC) $(wildcard core/*.h core/*/*.h core/*/*/*.h importers/*.h importers/*/*.h views/*.h tui/*.h tests/harness/*.h)

prefix ?= /usr/local
PROGRAM := $(B)/release/flatline
# for where the data is and the program is not
BESIDE_DATA := facts_rows.py facts_duckdb.py facts_spark.py
install: $(PROGRAM)                             ## DESTDIR, prefix
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(prefix)/bin/flatline
	@mkdir -p $(B)/gen && $(PROGRAM) manual flatline > $(B)/gen/flatline.1 && $(PROGRAM) manual checks > $(B)/gen/flatline-checks.7
	install -D -m 644 $(B)/gen/flatline.1 $(DESTDIR)$(prefix)/share/man/man1/flatline.1
	install -D -m 644 tui/man/flatline-config.5 $(DESTDIR)$(prefix)/share/man/man5/flatline-config.5
	install -D -m 644 $(B)/gen/flatline-checks.7 $(DESTDIR)$(prefix)/share/man/man7/flatline-checks.7
	@for s in bash zsh fish; do $(PROGRAM) completions $$s > $(B)/gen/completion.$$s || exit 1; done
	install -D -m 644 $(B)/gen/completion.bash $(DESTDIR)$(prefix)/share/bash-completion/completions/flatline
	install -D -m 644 $(B)/gen/completion.zsh $(DESTDIR)$(prefix)/share/zsh/site-functions/_flatline
	install -D -m 644 $(B)/gen/completion.fish $(DESTDIR)$(prefix)/share/fish/vendor_completions.d/flatline.fish
	@for f in $(BESIDE_DATA); do install -D -m 644 importers/$$f $(DESTDIR)$(prefix)/share/flatline/$$f || exit 1; done
uninstall:                                      ## takes away what install put there
	rm -f $(DESTDIR)$(prefix)/bin/flatline $(DESTDIR)$(prefix)/share/man/man1/flatline.1 \
	  $(DESTDIR)$(prefix)/share/man/man5/flatline-config.5 $(DESTDIR)$(prefix)/share/man/man7/flatline-checks.7 \
	  $(DESTDIR)$(prefix)/share/bash-completion/completions/flatline \
	  $(DESTDIR)$(prefix)/share/zsh/site-functions/_flatline \
	  $(DESTDIR)$(prefix)/share/fish/vendor_completions.d/flatline.fish \
	  $(BESIDE_DATA:%=$(DESTDIR)$(prefix)/share/flatline/%)

clean:                                          ## removes build/ and the program
	rm -rf $(B) flatline
help:                                           ## this list
	@sed -n 's/^\([a-z][a-z -]*\):.*## /\1\t/p' Makefile | expand -t 26

endif
