#pragma once

// libsrt, built with GnuTLS: libavformat loads this build, and two builds in one process would share their symbols.
#include <srt/srt.h>
#include <srt/access_control.h>
