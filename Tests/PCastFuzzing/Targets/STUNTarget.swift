import PCastCore
import PCastWebRTC

/// STUN messages, as both ends of ICE process them.
enum STUNTarget {
    private static let password = "VOkJxbRl1RmTxUk/WvJxBt"
    private static let credentials = ICECredentials(ufrag: "evtj", password: password)!
    private static let peer = ICECredentials(ufrag: "h6vY", password: "peer-password-of-22-chars")!
    private static let path = NetworkPath(
        local: TransportAddress("192.0.2.10:8189")!, remote: TransportAddress("192.0.2.1:32853")!)

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let message = STUNMessage.parse(bytes.span) else { return false }
        try check(message.size <= bytes.count, "a message of \(message.size) bytes in \(bytes.count)")
        try check((message.usernameRange?.upperBound ?? 0) <= message.size, "the user name ends behind the message")
        let isAuthentic = message.verifyIntegrity(bytes.span, key: Array(password.utf8))
        try check(!isAuthentic || message.integrityOffset != nil, "integrity without an attribute")
        _ = message.recipientRange(in: bytes.span)
        try answer(bytes, message, isAuthentic)
        return true
    }

    private static func answer(
        _ bytes: [UInt8], _ message: STUNMessage, _ isAuthentic: Bool
    ) throws(BrokenInvariant) {
        let now = Instant(nanoseconds: 1_000_000_000)
        var lite = ICELiteAgent(local: credentials, remote: peer)
        var controlling = ICEControllingAgent(
            local: credentials, remote: peer, tieBreaker: 7, addresses: [path.local], seed: 1)
        controlling.addRemoteCandidate(.host(path.remote), at: now)
        let memory = ByteStorage(byteCount: STUNMessage.maximumSize)
        let buffer = memory.bytes
        while controlling.poll(into: buffer, at: now) != nil {}
        for isLite in [true, false] {
            let outcome =
                isLite
                ? lite.handle(bytes.span, message: message, from: path, at: now, reply: buffer)
                : controlling.handle(bytes.span, message: message, from: path, at: now, reply: buffer)
            try check(isAuthentic || !outcome.isAuthenticated, "believed without integrity")
            try check(outcome.replyLength <= STUNMessage.headerSize + 84 + 8, "an answer that amplifies")
            guard outcome.replyLength > 0 else { continue }
            let reply = Array(buffer[..<outcome.replyLength])
            let parsed = STUNMessage.parse(reply.span)
            try check(parsed?.transactionID == message.transactionID, "an answer that does not read back")
        }
        controlling.advance(to: now + .seconds(1 as Int64))
    }

    /// The messages of RFC 5769, sections 2.1 to 2.3, and a check that nominates.
    static let corpus: [[UInt8]] = [
        hexadecimal(
            """
            00010058 2112a442 b7e7a701 bc34d686 fa87dfae 80220010 5354554e 20746573 7420636c 69656e74
            00240004 6e0001ff 80290008 932ff9b1 51263b36 00060009 6576746a 3a683676 59202020
            00080014 9aeaa70c bfd8cb56 781ef2b5 b2d3f249 c1b571a2 80280004 e57a3bcf
            """),
        hexadecimal(
            """
            0101003c 2112a442 b7e7a701 bc34d686 fa87dfae 8022000b 74657374 20766563 746f7220 00200008 0001a147
            e112a643 00080014 2b91f599 fd9e90c3 8c7489f9 2af9ba53 f06be7d7 80280004 c07d4c96
            """),
        hexadecimal(
            """
            01010048 2112a442 b7e7a701 bc34d686 fa87dfae 8022000b 74657374 20766563 746f7220
            00200014 0002a147 0113a9fa a5d3f179 bc25f4b5 bed2b9d9
            00080014 a382954e 4be67bf1 1784c97c 8292c275 bfe3ed41 80280004 c8fb0b4c
            """),
        nomination,
    ]

    private static let nomination = [UInt8](unsafeUninitializedCapacity: STUNMessage.maximumSize) { buffer, count in
        var writer = STUNMessageWriter(
            .request, transactionID: STUNTransactionID(high: 1, low: 2), into: MutableByteView(buffer))
        writer.addUsername(recipient: Array("evtj".utf8), sender: Array("h6vY".utf8))
        writer.addPriority(1)
        writer.addRole(.controlling(tieBreaker: 3))
        writer.addUseCandidate()
        count = writer.finish(key: Array(password.utf8))
    }
}
