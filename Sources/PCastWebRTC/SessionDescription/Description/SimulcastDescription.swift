/// The `a=simulcast` line (RFC 8853, section 5.1): which encodings are sent or received side by side.
public struct SimulcastDescription: Hashable, Sendable {
    /// One encoding; those in one `Stream` are alternatives of each other.
    public struct Encoding: Hashable, Sendable {
        /// The name of an `a=rid` line.
        public var rid: String
        /// Written with `~`: offered, and not sent until asked for.
        public var isPaused: Bool

        public init(rid: String, isPaused: Bool = false) {
            self.rid = rid
            self.isPaused = isPaused
        }
    }

    /// Encodings of which one at a time is sent.
    public typealias Stream = [Encoding]

    /// What the side that wrote the line sends.
    public var send: [Stream]
    /// What the side that wrote the line receives.
    public var receive: [Stream]

    public init(send: [Stream] = [], receive: [Stream] = []) {
        self.send = send
        self.receive = receive
    }

    init?(parsing text: SDPText) {
        let fields = text.pieces()
        guard fields.count == 2 || fields.count == 4 else { return nil }
        self.init()
        for index in stride(from: 0, to: fields.count, by: 2) {
            guard let streams = Self.streams(fields[index + 1]) else { return nil }
            if fields[index].matches("send") {
                send = streams
            } else if fields[index].matches("recv") {
                receive = streams
            } else {
                return nil
            }
        }
    }

    private static func streams(_ text: SDPText) -> [Stream]? {
        var streams: [Stream] = []
        for piece in text.pieces(at: ";") {
            var stream: Stream = []
            for alternative in piece.pieces(at: ",") {
                let isPaused = alternative.first == UInt8(ascii: "~")
                let rid = isPaused ? alternative.dropFirst() : alternative
                guard RestrictionIdentifier.isIdentifier(rid) else { return nil }
                stream.append(Encoding(rid: rid.string, isPaused: isPaused))
            }
            streams.append(stream)
        }
        return streams
    }

    var text: String {
        [("send", send), ("recv", receive)].filter { !$0.1.isEmpty }
            .map { "\($0.0) \(Self.text($0.1))" }.joined(separator: " ")
    }

    private static func text(_ streams: [Stream]) -> String {
        streams.map { $0.map { ($0.isPaused ? "~" : "") + $0.rid }.joined(separator: ",") }.joined(separator: ";")
    }
}
