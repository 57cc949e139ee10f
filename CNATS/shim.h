// The key-value stores of NATS JetStream (libnats 3.4).
#ifndef PCAST_CNATS_SHIM_H
#define PCAST_CNATS_SHIM_H

#include <nats/nats.h>

#endif
