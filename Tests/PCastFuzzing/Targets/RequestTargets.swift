import PCastCore
import PCastDatabase
import PCastHLS
import PCastPlatform
import PCastPlayback
import PCastWeb

/// The text of an HTTP request outside of its body: the path of a playlist or file, and header fields; and the delay that
/// a response to a webhook requests, of which the status is the only other part that is read. The first byte selects the
/// kind. A line break divides several fields of one name.
enum RequestTextTarget {
    private static let proxies = ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"].compactMap { IPNetwork($0) }
    private static let proxy = IPAddress("127.0.0.1")

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let text = String(decoding: bytes.dropFirst(), as: UTF8.self)
        let fields = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
        switch bytes.first.map({ $0 % 6 }) {
        case 0: return try path(text)
        case 1: return try address(.forwardedFor, fields)
        case 2: return try address(.forwarded, fields)
        case 3: return try tags(fields)
        case 4: return try range(text)
        case 5: return try delay(text)
        default: return false
        }
    }

    private static func range(_ text: String) throws(BrokenInvariant) -> Bool {
        for size in [0, 1, 1_000] {
            guard case .bytes(let range) = RequestedRange(text, of: size) else { continue }
            let isInside = range.lowerBound >= 0 && range.upperBound <= size && !range.isEmpty
            try check(isInside, "\(range) of \(size) bytes")
        }
        return RequestedRange(text, of: 1_000) != .all
    }

    private static func delay(_ text: String) throws(BrokenInvariant) -> Bool {
        guard let delay = HTTPResult.delay(ofRetryAfter: text) else { return false }
        let time = WallTime(millisecondsSinceEpoch: 1_767_225_600_000)
        let outcome = RetrySchedule.standard.outcome(
            afterAttempts: 0, at: time, random: 0.5, asked: .seconds(Int64(delay)))
        guard case .retry(let next) = outcome else { throw BrokenInvariant(description: "\(outcome) after \(delay)") }
        try check(next > time && next <= time + .seconds(86_400 as Int64), "a retry at \(next)")
        return true
    }

    private static func path(_ text: String) throws(BrokenInvariant) -> Bool {
        guard let path = SignedPath(text) else { return false }
        let names = [path.stream, path.signature, path.name] + (path.file.map { [$0] } ?? [])
        for name in names { try check(!name.isEmpty && !name.utf8.contains(0x2F), "a name with a slash: \(name)") }
        let tail = "/" + names.joined(separator: "/") + (text.utf8.contains(0x3F) ? "?" + path.query : "")
        try check(text.hasSuffix(tail), "a path of other names: \(names)")
        return true
    }

    private static func address(_ field: ForwardedHeader, _ fields: [String]) throws(BrokenInvariant) -> Bool {
        let address = ForwardedAddress(field, fields).address(of: proxy, trusting: proxies)
        let unknown = ForwardedAddress(field, fields).address(of: proxy, trusting: [])
        try check(unknown == proxy, "an address from a proxy that is not trusted")
        try check(address != nil, "no address")
        _ = ForwardedAddress.isSecure(field) { _ in fields }
        return address != proxy
    }

    private static func tags(_ fields: [String]) throws(BrokenInvariant) -> Bool {
        guard let condition = EntityTagCondition(fields) else { return false }
        try check(!condition.matches("") || condition == .any, "a tag without quotes")
        guard case .tags(let tags) = condition else { return true }
        let size = fields.reduce(0) { $0 + $1.utf8.count }
        try check(tags.reduce(0) { $0 + $1.utf8.count } <= size, "tags that are longer than their fields")
        for tag in tags { try check(condition.matches(tag), "a tag that does not match itself: \(tag)") }
        return !tags.isEmpty
    }

    static let corpus: [[UInt8]] = [
        [0] + Array("/video/stream-1/0a1b-2c3d/video.m3u8?_HLS_msn=7&_HLS_part=3".utf8),
        [0] + Array("/video/stream-1/0a1b-2c3d/video/i-7.m4s".utf8),
        [1] + Array("203.0.113.9, 192.0.2.1:4711, 10.1.1.1\n[2001:db8::7]:80".utf8),
        [2] + Array(#"for=192.0.2.1;proto=https;by=a, for="[2001:db8:cafe::17]:4711""#.utf8),
        [3] + Array("\"a,b\", W/\"c\" ,\"d\"\n\"e\"".utf8), [3] + Array("*".utf8),
        [4] + Array("bytes=0-499".utf8), [4] + Array("bytes=-1".utf8), [4] + Array("bytes=999-".utf8),
        [5] + Array("120".utf8), [5] + Array("99999999999999999999".utf8),
    ]
}

/// The manifests of a steering server, of which a zero byte divides several ones.
enum SteeringTarget {
    private static let server = "https://example.com/steering?video=7"

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var isRead = false
        var now = Instant(nanoseconds: 0)
        var steering = PathwaySteering(server: server, initial: "B", pathways: ["A", "B", "A"], at: now)
        for text in bytes.split(separator: 0, maxSplits: 8, omittingEmptySubsequences: false) {
            guard case .load(let request)? = steering.poll() else { break }
            try check(steering.poll() == nil, "two requests at a time")
            if let manifest = SteeringManifest(json: Array(text)) {
                isRead = true
                try check(manifest.priority.count <= SteeringManifest.pathwayLimit, "too many pathways")
                for clone in manifest.clones {
                    let address = URIReference(clone.uri(for: "https://a.example:1/b?c=d#e", .variant, stableID: nil))
                    try check(address.path == "/b" && address.fragment == "e", "a clone with another path: \(address)")
                }
                steering.handle(.loaded(id: request.id, manifest, from: request.uri), at: now)
                steering.handle(.pathwayFailed(manifest.priority.first ?? "A"), at: now)
            } else {
                steering.handle(.failed(id: request.id, .unreachable), at: now)
            }
            let pathways = ["A", "B"] + steering.clones.map(\.id)
            try check(steering.order.sorted() == pathways.sorted(), "pathways that changed: \(steering.order)")
            try check(steering.clones.count <= PathwayClone.limit, "too many clones")
            while let deadline = steering.deadline {
                try check(deadline > now, "a deadline in the past")
                now = deadline
                steering.advance(to: now)
            }
        }
        return isRead
    }

    static let corpus: [[UInt8]] = [
        #"{"VERSION":1,"TTL":10,"RELOAD-URI":"/steering?video=7&session=5","PATHWAY-PRIORITY":["B","A"]}"#,
        #"{"VERSION":1,"TTL":86400.5,"PATHWAY-PRIORITY":["A"]}"#
            + "\0" + #"{"VERSION":1,"RELOAD-URI":"https://other.example/?a=b#c","PATHWAY-PRIORITY":["A b","B"]}"#,
        #"{"VERSION":1,"PATHWAY-PRIORITY":["C"],"PATHWAY-CLONES":[{"BASE-ID":"A","ID":"C","URI-REPLACEMENT":"#
            + #"{"HOST":"c.example:8","PARAMS":{"c":"1","f":"2"},"PER-VARIANT-URIS":{"v":"x"}}}]}"#,
    ].map { Array($0.utf8) }
}

/// The events that a platform sends to the SDK. The first byte is the size of the pieces in which they arrive.
enum ServerSentEventsTarget {
    private static let limit = 64

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let size = bytes.first.map({ Int($0) + 1 }) else { return false }
        let content = bytes.dropFirst()
        let whole = events(content, piece: .max)
        try check(whole == events(content, piece: size), "events that depend on the pieces")
        for event in whole?.events ?? [] {
            try check(!event.type.isEmpty, "an event without a type")
            // An invalid byte becomes a character of three.
            try check(event.type.utf8.count + event.data.utf8.count <= 3 * limit, "an event that is too large")
        }
        return whole?.events.isEmpty == false
    }

    private struct Outcome: Equatable {
        var events: [ServerSentEvents.Event] = []
        var lastID = ""
    }

    /// Returns the events; nil if one is too large.
    private static func events(_ content: ArraySlice<UInt8>, piece: Int) -> Outcome? {
        var parser = ServerSentEvents(limit: limit)
        var outcome = Outcome()
        var rest = content
        while !rest.isEmpty {
            guard let events = try? parser.parse(rest.prefix(piece)) else { return nil }
            outcome.events += events
            rest = rest.dropFirst(piece)
        }
        outcome.lastID = parser.lastID
        return outcome
    }

    static let corpus: [[UInt8]] = [
        [0] + Array("retry: 1000\nid: a-1\n\nid: a-2\nevent: ready\ndata: {}\n\n".utf8),
        [6] + Array("event: a\r\ndata: 1\r\ndata\r\n\r\n: comment\rdata: 2\r\r".utf8),
    ]
}
