/// The `a=simulcast` line: the encodings that are sent or received simultaneously (RFC 8853, section 5.1).
public struct SimulcastDescription: Hashable, Sendable {
    /// An encoding. The encodings of a `Stream` are alternatives of each other.
    public struct Encoding: Hashable, Sendable {
        /// The ID of an `a=rid` line.
        public var rid: String
        /// Whether the encoding is initially paused (`~`), and sent only on request.
        public var isPaused: Bool

        /// Creates an encoding.
        public init(rid: String, isPaused: Bool = false) {
            self.rid = rid
            self.isPaused = isPaused
        }
    }

    /// Alternative encodings, of which one is sent at a time.
    public typealias Stream = [Encoding]

    /// The streams that the side which wrote the line sends.
    public var send: [Stream]
    /// The streams that the side which wrote the line receives.
    public var receive: [Stream]

    /// Creates a description of streams.
    public init(send: [Stream] = [], receive: [Stream] = []) {
        self.send = send
        self.receive = receive
    }

    /// Parses the value of the attribute. Returns nil if it is malformed.
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

    /// Parses streams, separated by semicolons, with alternatives that are separated by commas.
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

    /// The value of the attribute.
    var text: String {
        [("send", send), ("recv", receive)].filter { !$0.1.isEmpty }
            .map { "\($0.0) \(Self.text($0.1))" }.joined(separator: " ")
    }

    private static func text(_ streams: [Stream]) -> String {
        streams.map { $0.map { ($0.isPaused ? "~" : "") + $0.rid }.joined(separator: ",") }.joined(separator: ";")
    }
}

/// An `a=rid` line: the ID of an encoding and its restrictions (RFC 8851).
public struct RestrictionIdentifier: Hashable, Sendable {
    /// The direction of an encoding, from the view of the side that wrote the line.
    public enum Direction: String, Hashable, Sendable {
        /// The side sends the encoding.
        case send
        /// The side receives the encoding.
        case receive = "recv"
    }

    /// The ID, which packets have in the RID header extension.
    public var id: String
    /// The direction of the encoding.
    public var direction: Direction
    /// The restrictions, e.g. `pt` and `max-width`.
    public var restrictions: FormatParameters

    /// Creates an identifier.
    public init(id: String, direction: Direction, restrictions: FormatParameters = [:]) {
        self.id = id
        self.direction = direction
        self.restrictions = restrictions
    }

    /// Parses the value of the attribute. Returns nil if it is malformed.
    init?(parsing text: SDPText) {
        let (id, rest) = text.firstPiece
        guard Self.isIdentifier(id), let (word, restrictions) = rest?.firstPiece,
            let direction = Direction(rawValue: word.string)
        else { return nil }
        self.init(
            id: id.string, direction: direction, restrictions: restrictions.map { FormatParameters(parsing: $0) } ?? [:]
        )
    }

    /// Returns whether a text consists of letters, digits, `-` and `_` (RFC 8851, section 10), and is at most 255 bytes
    /// long, which a two-byte header extension can carry.
    static func isIdentifier(_ text: SDPText) -> Bool {
        !text.isEmpty && text.count <= 255
            && text.allSatisfy { byte in
                switch Unicode.Scalar(byte) {
                case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
                default: false
                }
            }
    }

    /// The value of the attribute.
    var text: String {
        "\(id) \(direction.rawValue)" + (restrictions.isEmpty ? "" : " \(restrictions.text)")
    }
}
