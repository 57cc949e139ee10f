import FoundationEssentials
import PCastCore
package import PCastEdgeAuth

/// A signed message between nodes.
package struct NodeEnvelope: Codable, Sendable {
    /// The purpose of a message, which is signed with it.
    package enum Purpose: String {
        /// An edge requests a stream. The nonce is random.
        case request
        /// The origin offers it. The nonce is that of the request.
        case offer
        /// The edge answers. The nonce is the identifier of the link, which is random.
        case answer
        /// An edge requests the signed path of a stream's playlists. The nonce is random.
        case playlist
        /// The node that has the playlists answers. The nonce is that of the request.
        case path
        /// An edge requests a still image of a stream. The nonce is random.
        case thumbnail
        /// A node opens a link to the home of rooms. The nonce is random.
        case roomLink
        /// A node sends requests to the home of rooms. The nonce is of both nodes, with the number of the message.
        case roomRequests
        /// The home of rooms sends responses and events.
        case roomEvents
        /// A node opens a link to the home of timelines. The nonce is random.
        case timelineLink
        /// A node sends requests to the home of timelines. The nonce is of both nodes, with the number of the message.
        case timelineRequests
        /// The home of timelines sends revisions and responses.
        case timelineEvents
        /// An edge requests the reason why a stream has ended. The nonce is random.
        case end
        /// The origin answers. The nonce is that of the request.
        case ended
    }

    /// A value that is signed with the message and belongs to one exchange.
    package let nonce: String
    /// The message as JSON.
    package let payload: String
    let signature: String

    /// The maximum size of a message in bytes.
    package static let maximumSize = 128 * 1024

    /// Creates an envelope with the signature of a message.
    package init(_ message: some Encodable, _ purpose: Purpose, nonce: String, by signer: NodeSignature) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let bytes = try? encoder.encode(message) else {
            preconditionFailure("a message must contain only text and numbers")
        }
        payload = String(decoding: bytes, as: UTF8.self)
        signature = signer.sign(payload, purpose: purpose.rawValue, nonce: nonce)
        self.nonce = nonce
    }

    /// Parses an envelope; nil for other bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumSize,
            let envelope = try? JSONDecoder().decode(NodeEnvelope.self, from: Data(bytes))
        else { return nil }
        self = envelope
    }

    /// The envelope as JSON.
    package var bytes: [UInt8] {
        guard let bytes = try? JSONEncoder().encode(self) else { preconditionFailure("an envelope contains only text") }
        return Array(bytes)
    }

    /// Returns the message if it is signed for the purpose.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized` or `badRequest`.
    package func message<Message: Decodable>(
        _ type: Message.Type = Message.self, _ purpose: Purpose, by signer: NodeSignature
    ) throws(APIError) -> Message {
        guard signer.isValid(signature, of: payload, purpose: purpose.rawValue, nonce: nonce) else {
            throw APIError(
                .unauthorized, "The node is not authenticated: give all nodes the same --cluster-secret.",
                detail: "a message of a node has a wrong signature")
        }
        guard let message = try? JSONDecoder().decode(Message.self, from: Data(payload.utf8)) else {
            throw APIError(.badRequest, "The message of the node is malformed: use the same version on all nodes.")
        }
        return message
    }
}

/// The nonces of the newest requests. A request that was recorded on the network is not accepted again, because each one
/// reserves a place for the setup time.
struct ReceivedNonces: Sendable {
    /// The maximum number of nonces; the oldest one is forgotten.
    static let capacity = 16_384
    /// The permitted sizes of a nonce in bytes.
    static let sizes = 16...64

    private var known: Set<String> = []
    /// The nonces in the order of their arrival, as a ring.
    private var order: [String] = []
    private var oldest = 0

    /// Adds a nonce. Returns false if it is known.
    mutating func insert(_ nonce: String) -> Bool {
        guard known.insert(nonce).inserted else { return false }
        guard order.count == Self.capacity else {
            order.append(nonce)
            return true
        }
        known.remove(order[oldest])
        order[oldest] = nonce
        oldest = (oldest + 1) % Self.capacity
        return true
    }
}

/// The request of an edge for a stream.
package struct NodeRequest: Codable, Sendable {
    let application: String
    /// The requested identifier or name.
    let stream: String
    /// The identifiers of the nodes that wait for the stream, the requesting one last.
    let hops: [String]
}

/// The offer of an origin.
package struct NodeOffer: Codable, Sendable {
    /// The identifier of the link, to which the edge sends its answer.
    let link: String
    let stream: String
    /// The declared name of the stream, by which other origins know it too; nil if it has none.
    let name: String?
    let tags: [String]
    /// The tags that a viewer's token may require.
    let authorizingTags: [String]
    /// The identifiers of the nodes that the stream has passed, the origin last.
    let path: [String]
    /// The window in which viewers can seek by HLS; nil if the stream is not packaged.
    let window: NodeWindow?
    /// The session description.
    let offer: String
}

/// The window of a packaged stream.
package struct NodeWindow: Codable, Hashable, Sendable {
    /// The start of the stream in milliseconds since 1970, by the clock of the origin.
    let start: Int64
    /// The duration in milliseconds.
    let duration: Int64

    /// Creates the window of a stream that begins at a time.
    init(start: WallTime, duration: TimeSpan) {
        self.start = start.millisecondsSinceEpoch
        self.duration = Int64(duration.milliseconds)
    }

    /// The start and the duration; nil if they are out of range.
    var times: (start: WallTime, duration: TimeSpan)? {
        // The year 2100, and the longest window.
        guard (0...4_102_444_800_000).contains(start), (0...24 * 3_600_000).contains(duration) else { return nil }
        return (WallTime(millisecondsSinceEpoch: start), .milliseconds(duration))
    }
}

/// The answer of an edge.
package struct NodeAnswer: Codable, Sendable {
    let answer: String
}

/// The request of an edge for the signed path of a stream's playlists, or for a still image of it.
package struct NodePlaylistRequest: Codable, Sendable {
    /// The application of the viewer; nil for a viewer with a signed path, which names none.
    let application: String?
    /// The requested identifier or name.
    let stream: String
    /// The identifiers of the nodes that wait for the answer, the requesting one last.
    let hops: [String]
    /// The number of viewers that wait for a part at the edge, and at nodes that request the stream from it.
    let viewers: Int
    /// The identifiers of the nodes of the former path, whose first one did not answer; nil for none. A node with one of them
    /// in its own path asks again before it answers.
    var lost: [String]?
}

/// The request for the reason why a stream has ended.
package struct NodeEndRequest: Codable, Sendable {
    let application: String
    /// The identifier of the stream at the node.
    let stream: String
}

/// The reason why a stream has ended.
package struct NodeStreamEnd: Codable, Sendable {
    /// The reason, as `StreamEndedReason` names it.
    let reason: String
    /// The text of a custom reason.
    let description: String

    /// The maximum number of characters of a text that is used.
    static let maximumDescription = 1_000
}

/// The signed path of a stream's playlists.
package struct NodePlaylist: Codable, Sendable {
    let application: String
    let stream: String
    /// The tags that a viewer's token may require.
    let authorizingTags: [String]
    /// The signatures that are accepted, the newest one first.
    let signatures: [String]
    /// The identifiers of the nodes through which the stream is requested, the origin last.
    let path: [String]

    /// Whether the texts can be parts of a path, and their numbers and lengths are within bounds.
    var isUsable: Bool {
        (1...4).contains(signatures.count) && signatures.allSatisfy(\.isPathSegment) && stream.isPathSegment
            && !path.isEmpty
    }
}

extension String {
    /// Whether the text can be a segment of a path as it is: at most 256 unreserved characters (RFC 3986, section 2.3), and
    /// neither `.` nor `..`.
    var isPathSegment: Bool {
        (1...256).contains(utf8.count) && self != "." && self != ".."
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"):
                    true
                default: false
                }
            }
    }
}
