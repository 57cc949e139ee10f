/// A MID or RID in a header extension: UTF-8 of up to 16 bytes (RFC 8843, RFC 8852).
package struct RTPStreamIdentifier: Hashable, Sendable {
    /// The maximum size in bytes, which the one-byte form allows.
    package static let maximumSize = 16

    /// The size in bytes.
    package let count: Int
    private let storage: SIMD16<UInt8>

    /// Creates an identifier from text. Returns nil if it is empty or longer than ``maximumSize`` bytes.
    package init?(_ text: String) {
        var text = text
        let identifier = text.withUTF8 { bytes in RTPStreamIdentifier(bytes: bytes.span) }
        guard let identifier else { return nil }
        self = identifier
    }

    /// Creates an identifier from bytes. Returns nil if it is empty or longer than ``maximumSize`` bytes.
    package init?(bytes: Span<UInt8>) {
        guard !bytes.isEmpty, bytes.count <= Self.maximumSize else { return nil }
        var storage = SIMD16<UInt8>(repeating: 0)
        for index in bytes.indices { storage[index] = bytes[index] }
        self.storage = storage
        count = bytes.count
    }

    /// Returns a byte; the index must be less than ``count``.
    package subscript(index: Int) -> UInt8 { storage[index] }

    /// The identifier as in SDP.
    package var text: String { String(decoding: (0..<count).map { storage[$0] }, as: UTF8.self) }
}
