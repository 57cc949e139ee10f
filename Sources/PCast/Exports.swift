/// The nouns of media and of source devices are part of this library's interface: who imports `PCast` has them.
@_exported public import PCastCodecs
@_exported public import PCastDevices
@_exported public import PCastMedia
