/// The attributes of TURN (RFC 8656, section 18) and of its credentials (RFC 8489, section 14).
enum TURNAttributeType {
    static let channelNumber: UInt16 = 0x000C
    static let lifetime: UInt16 = 0x000D
    static let xorPeerAddress: UInt16 = 0x0012
    static let data: UInt16 = 0x0013
    static let xorRelayedAddress: UInt16 = 0x0016
    static let requestedAddressFamily: UInt16 = 0x0017
    static let requestedTransport: UInt16 = 0x0019
    static let messageIntegritySHA256: UInt16 = 0x001C
    static let passwordAlgorithm: UInt16 = 0x001D
    static let passwordAlgorithms: UInt16 = 0x8002
    static let software: UInt16 = 0x8022

    /// The known attributes of requests that must be understood. Others below 0x8000 cause the error 420.
    static let understood: Set<UInt16> = [
        STUNAttributeType.username, STUNAttributeType.messageIntegrity, STUNAttributeType.realm,
        STUNAttributeType.nonce, channelNumber, lifetime, xorPeerAddress, data, requestedAddressFamily,
        requestedTransport, messageIntegritySHA256, passwordAlgorithm,
    ]
}

/// The error codes of TURN responses (RFC 8656, section 19; RFC 8489, section 14.8).
enum TURNErrorCode {
    static let badRequest = 400
    static let unauthenticated = 401
    static let forbidden = 403
    static let unknownAttribute = 420
    static let allocationMismatch = 437
    static let staleNonce = 438
    static let addressFamilyNotSupported = 440
    static let wrongCredentials = 441
    static let unsupportedTransport = 442
    static let allocationQuotaReached = 486
    static let insufficientCapacity = 508
}
