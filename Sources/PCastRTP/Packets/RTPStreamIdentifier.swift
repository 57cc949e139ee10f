/// A MID or RID as RTP header extensions carry it: a few bytes of UTF-8, held in place (RFC 8843, RFC 8852).
public struct RTPStreamIdentifier: Hashable, Sendable {
    /// The most bytes that the one-byte form carries.
    public static let maximumSize = 16

    public let count: Int
    private let storage: SIMD16<UInt8>

    /// Nil when empty or longer than `maximumSize` bytes.
    public init?(_ text: String) {
        var text = text
        let identifier = text.withUTF8 { bytes in RTPStreamIdentifier(bytes: bytes.span) }
        guard let identifier else { return nil }
        self = identifier
    }

    /// Nil when empty or longer than `maximumSize` bytes.
    public init?(bytes: Span<UInt8>) {
        guard !bytes.isEmpty, bytes.count <= Self.maximumSize else { return nil }
        var storage = SIMD16<UInt8>(repeating: 0)
        for index in bytes.indices { storage[index] = bytes[index] }
        self.storage = storage
        count = bytes.count
    }

    public subscript(index: Int) -> UInt8 { storage[index] }

    /// The identifier as SDP spells it.
    public var text: String { String(decoding: (0..<count).map { storage[$0] }, as: UTF8.self) }
}
