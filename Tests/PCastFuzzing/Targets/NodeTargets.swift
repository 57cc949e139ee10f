import Crypto
import FoundationEssentials
import PCastCluster
import PCastCore
import PCastEdgeAuth
import PCastPlatform
import PCastTimeline

/// Records of a cluster's directory. The first line is the key, and the rest is the record as JSON, which is signed here,
/// because a wrong signature would reject almost all inputs.
enum ClusterRecordTarget {
    private static let secret = "a secret of the cluster"
    private static let coding = ClusterRecordCoding(secret: secret)

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let lines = bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        guard lines.count == 2, let key = ClusterKey(text: String(decoding: lines[0], as: UTF8.self)) else {
            return false
        }
        try check(ClusterKey(text: key.text) == key, "a key that changed: \(key)")
        try check(coding.decode(Data(bytes), key) == nil, "a record without a signature")
        let signed = Data("\(key.text) ".utf8) + Data(lines[1])
        let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: Data(secret.utf8)))
        guard let record = coding.decode(Data(code) + Data(lines[1]), key) else { return false }
        try check(record.key == key, "a record of another key")
        if let written = coding.encode(record) {
            try check(coding.decode(written, key) == record, "a record that changed: \(record)")
        }
        try report(record)
        return true
    }

    /// Reports the record to a node, which publishes the same stream.
    private static func report(_ record: ClusterRecord) throws(BrokenInvariant) {
        var now = Instant(nanoseconds: 0)
        // There is no epoch above the highest one that a record may have.
        var isLast = false
        if case .stream(let stream) = record { isLast = stream.epoch.number >= 1 << 62 }
        if case .value(let value) = record { isLast = value.version.number >= 1 << 62 }
        let node = ClusterNode(name: "a", incarnation: 1, address: "https://a.example", region: "")
        var member = ClusterMember(node, seed: 1, at: now)
        member.publish(ClusterStream(name: "show", stream: "1", application: "x"), .takeOver)
        member.handle(.connected)
        member.handle(.changed(record, revision: .max))
        member.handle(.synchronized)
        for _ in 0..<4 {
            now += .seconds(60 as Int64)
            member.advance(to: now)
            let outputs = member.takeOutputs()
            try check(outputs.count <= 32, "\(outputs.count) outputs of one record")
            for case .write(let written, _, let operation) in outputs {
                try check(isLast || coding.encode(written) != nil, "a record that cannot be written: \(written)")
                member.finish(operation, written.key, .success(.max))
            }
            for node in member.nodes { _ = (node.load.isFull, node.load.share) }
            _ = (member.origin(of: "show"), member.highestEpoch(of: "show"), member.remoteStreams)
        }
    }

    static let corpus: [[UInt8]] = [
        (
            ClusterKey.stream("show"),
            #"{"stream":{"name":"show","stream":"1","application":"x","node":"b","epoch":{"number":7,"claim":31},"#
                + #""tags":["a"],"codecs":["h264","opus"],"layers":["540p"]}}"#
        ),
        (
            .node("b"),
            #"{"node":{"name":"b","incarnation":18446744073709551615,"address":"https://b.example","region":"eu","#
                + #""load":{"processor":0.5,"egress":1000000,"streams":1,"viewers":2,"capacity":100},"#
                + #""isDraining":false,"renewal":9}}"#
        ),
        (.drain("a"), #"{"drain":{"node":"a","incarnation":1}}"#),
        (.revocation("t"), #"{"revocation":{"token":"t","lifetime":60},"later":[]}"#),
        (
            .value(.streamKey, application: "x", name: "studio"),
            #"{"value":{"kind":"key","application":"x","name":"studio","version":{"number":7,"claim":31}}}"#
        ),
    ].map { Array("\($0.0.text)\n\($0.1)".utf8) }
}

/// Messages between nodes. The first byte selects an envelope, or the message in an envelope that is signed here.
enum NodeMessageTarget {
    private static let signer = NodeSignature(secret: "a secret of the nodes")!
    private static let nonce = "0123456789abcdef"

    private struct Envelope: Encodable {
        let nonce: String
        let payload: String
        let signature: String
    }

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let form = bytes.first else { return false }
        let content = Array(bytes.dropFirst())
        switch form % 16 {
        case 0:
            guard let envelope = NodeEnvelope(content) else { return false }
            try check(NodeEnvelope(envelope.bytes)?.payload == envelope.payload, "an envelope that changed")
            let request = try? envelope.message(NodeRequest.self, .request, by: signer)
            let isUnchanged = envelope.payload == requestText && envelope.nonce == nonce
            try check(request == nil || isUnchanged, "a message that no node has signed")
            return true
        case 1: return try message(NodeRequest.self, .request, content)
        case 2: return try message(NodeOffer.self, .offer, content)
        case 3: return try message(NodeAnswer.self, .answer, content)
        case 4: return try message(NodePlaylistRequest.self, .playlist, content)
        case 6: return try message(NodeEndRequest.self, .end, content)
        case 7: return try message(NodeStreamEnd.self, .ended, content)
        case 8: return try message([TimelineLinkRequest].self, .timelineRequests, content, timelineRequests)
        case 9: return try message([TimelineLinkEvent].self, .timelineEvents, content, timelineEvents)
        case 10:
            return try message([RoomLinkRequest].self, .roomRequests, content) { items in
                for message in items.flatMap(\.messages) { _ = message.isReadable(of: application) }
            }
        case 11:
            return try message([RoomLinkEvent].self, .roomEvents, content) { items in
                for message in items.flatMap(\.messages) { _ = message.isReadable(of: application) }
            }
        default: return try message(NodePlaylist.self, .path, content)
        }
    }

    private static func message<Message: Codable>(
        _ type: Message.Type, _ purpose: NodeEnvelope.Purpose, _ content: [UInt8],
        _ read: (Message) throws(BrokenInvariant) -> Void = { _ in }
    ) throws(BrokenInvariant) -> Bool {
        let bytes = envelope(of: String(decoding: content, as: UTF8.self), purpose)
        guard let envelope = NodeEnvelope(bytes) else {
            try check(bytes.count > NodeEnvelope.maximumSize, "an envelope that is not read")
            return false
        }
        guard let message = try? envelope.message(type, purpose, by: signer) else { return false }
        try read(message)
        let written = NodeEnvelope(message, purpose, nonce: nonce, by: signer)
        guard written.bytes.count <= NodeEnvelope.maximumSize else { return true }
        guard let again = try? NodeEnvelope(written.bytes)?.message(type, purpose, by: signer) else {
            throw BrokenInvariant(description: "a message that is not read back: \(written.payload)")
        }
        let rewritten = NodeEnvelope(again, purpose, nonce: nonce, by: signer)
        try check(rewritten.payload == written.payload, "a message that changed: \(written.payload)")
        let purposes: [NodeEnvelope.Purpose] = [
            .request, .offer, .answer, .playlist, .path, .thumbnail, .end, .ended, .roomRequests, .roomEvents,
            .timelineRequests, .timelineEvents,
        ]
        for other in purposes where other != purpose {
            let isAccepted = (try? written.message(type, other, by: signer)) != nil
            try check(!isAccepted, "a message for another purpose")
        }
        return true
    }

    private static let application = ApplicationID("x")

    private static func timelineRequests(_ requests: [TimelineLinkRequest]) throws(BrokenInvariant) {
        for request in requests {
            switch request {
            case .attach(_, _, let lineage, let newest, _):
                guard let lineage = lineage.value else { continue }
                let shared = lineage.shared(
                    with: lineage, newest: SequenceNumber(newest), otherNewest: SequenceNumber(newest))
                try check(shared <= SequenceNumber(max(newest, 0)), "a shared revision that does not exist: \(shared)")
            case .revisions(_, let texts, _): try revisions(texts)
            case .record(let record): _ = record.request
            case .stored: break
            }
        }
    }

    private static func timelineEvents(_ events: [TimelineLinkEvent]) throws(BrokenInvariant) {
        for event in events {
            switch event {
            case .reset(_, let lineage, _, _): _ = lineage.value
            case .revisions(_, let texts): try revisions(texts)
            case .want, .recorded, .rejected, .absent: break
            }
        }
    }

    private static func revisions(_ texts: [String]) throws(BrokenInvariant) {
        for revision in TimelineRevision.list(texts) ?? [] {
            let text = String(decoding: revision.bytes, as: UTF8.self)
            try check(TimelineRevision.list([text]) == [revision], "a revision that changed: \(text)")
        }
    }

    private static func envelope(of payload: String, _ purpose: NodeEnvelope.Purpose) -> [UInt8] {
        let signature = signer.sign(payload, purpose: purpose.rawValue, nonce: nonce)
        let envelope = Envelope(nonce: nonce, payload: payload, signature: signature)
        return (try? JSONEncoder().encode(envelope)).map { Array($0) } ?? []
    }

    private static let requestText = #"{"application":"x","hops":["c","b"],"stream":"show"}"#
    private static let offerText =
        #"{"link":"l","stream":"1","tags":["a"],"authorizingTags":[],"path":["a"],"offer":"v=0\r\n","#
        + #""window":{"start":1,"duration":2}}"#

    private static let nodeCorpus: [[UInt8]] = [
        [0] + envelope(of: requestText, .request), [1] + Array(requestText.utf8), [2] + Array(offerText.utf8),
        [3] + Array(#"{"answer":"v=0\r\n"}"#.utf8),
        [4] + Array(#"{"application":"x","hops":["b"],"stream":"show","viewers":3}"#.utf8),
        [5]
            + Array(
                #"{"application":"x","stream":"1","authorizingTags":["a"],"signatures":["1-00"],"path":["a"]}"#.utf8),
        [6] + Array(#"{"application":"x","stream":"1"}"#.utf8),
        [7] + Array(#"{"reason":"custom","description":"over"}"#.utf8),
    ]

    static var corpus: [[UInt8]] {
        var inputs = nodeCorpus
        for (form, text) in linkTexts { inputs.append([form] + Array(text.utf8)) }
        return inputs
    }

    /// Messages of the links of rooms and timelines.
    private static let linkTexts: [(form: UInt8, text: String)] = [
        (
            8,
            #"""
            [{"attach":{"_0":{"application":"x","league":"NHL","game":"1"},"node":"b","newest":7,
            "_2":{"logs":["l","m"],"starts":[0,4]},"follows":true}}]
            """#
        ),
        (8, #"[{"stored":{"_0":{"application":"x","league":"NHL","game":"1"},"_1":7}}]"#),
        (8, #"[{"revisions":{"_0":{"application":"x","league":"NHL","game":"1"},"_1":["{}"],"isLast":true}}]"#),
        (9, #"[{"recorded":{"_0":1,"revision":2}},{"rejected":{"_0":1}}]"#),
        (9, #"[{"want":{"_0":{"application":"x","league":"NHL","game":"1"},"after":3}}]"#),
        (10, #"[{"close":{"_0":{"application":"x","alias":"demo"}}}]"#),
        (10, #"[{"streamEnded":{"_0":"s","session":"t"}}]"#),
        (11, #"[{"event":{"_0":{"type":"chat.RoomEvent","bytes":"AAAA"}}}]"#),
    ]
}
