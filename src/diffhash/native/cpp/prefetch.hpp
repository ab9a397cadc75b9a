// A hint that memory will be read soon; an address past the end does no harm.
#pragma once

#if defined(__GNUC__)
#define DIFFHASH_PREFETCH(address) __builtin_prefetch(address)
#else
#define DIFFHASH_PREFETCH(address) ((void)0)
#endif
