import CZlib

/// A streaming decoder of an HTTP content coding (RFC 9110, section 8.4.1). It must be used by one task at a time.
package final class ContentCoding: @unchecked Sendable {  // used by one task at a time
    private let stream: UnsafeMutablePointer<z_stream>
    private let isDeflate: Bool
    private var hasBegun = false
    /// Whether the coded data has ended. Data after it is padding, or another gzip member.
    private var isAtEnd = false
    /// Whether padding has begun. The rest of the content belongs to it, however it is divided.
    private var hasPadding = false

    /// The value of `Accept-Encoding` with all supported codings.
    static let accepted = "gzip, deflate"
    /// The largest window, with detection of the gzip or zlib header (`inflateInit2` of zlib).
    private static let automatic: Int32 = 15 + 32
    private static let raw: Int32 = -15
    private static let pieceSize = 64 << 10

    /// Creates a decoder from the value of `Content-Encoding`; nil if the coding is not supported.
    package init?(_ name: String) {
        guard ["gzip", "x-gzip", "deflate"].contains(name) else { return nil }
        isDeflate = name == "deflate"
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if hasBegun { inflateEnd(stream) }
        stream.deallocate()
    }

    /// Decodes received bytes and passes the result on in pieces, because a few coded bytes may decode to many. `take`
    /// returns false if no more data is wanted. Returns false if the data is invalid.
    package func decode(_ bytes: [UInt8], take: ([UInt8]) async -> Bool) async -> Bool {
        guard !bytes.isEmpty, begin(with: bytes[0]) else { return bytes.isEmpty }
        var offset = 0
        var piece = [UInt8](repeating: 0, count: Self.pieceSize)
        while true {
            if isAtEnd {
                guard offset < bytes.count else { return true }
                // Several gzip members may follow one another (RFC 1952, section 2.2).
                guard !hasPadding, !isDeflate, bytes[offset] == 0x1F, inflateReset(stream) == Z_OK else {
                    hasPadding = true
                    return true
                }
                isAtEnd = false
            }
            let (result, consumed, made) = step(bytes, from: offset, into: &piece)
            offset += consumed
            if made > 0 { guard await take(Array(piece[..<made])) else { return true } }
            switch result {
            case Z_STREAM_END: isAtEnd = true
            case Z_OK where made == piece.count || offset < bytes.count: continue
            case Z_OK, Z_BUF_ERROR: return true
            default: return false
            }
        }
    }

    /// Initializes zlib. Some servers send "deflate" without the zlib header that RFC 9110, section 8.4.1.2 requires.
    /// The low four bits of a zlib header's first byte are 8 (RFC 1950, section 2.2).
    private func begin(with first: UInt8) -> Bool {
        guard !hasBegun else { return true }
        let isRaw = isDeflate && first & 0x0F != 8
        hasBegun = czlib_inflate_begin(stream, isRaw ? Self.raw : Self.automatic) == Z_OK
        return hasBegun
    }

    private func step(
        _ bytes: [UInt8], from offset: Int, into piece: inout [UInt8]
    ) -> (result: Int32, consumed: Int, made: Int) {
        bytes.withUnsafeBufferPointer { bytes in
            piece.withUnsafeMutableBufferPointer { piece in
                stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress! + offset)
                stream.pointee.avail_in = UInt32(bytes.count - offset)
                stream.pointee.next_out = piece.baseAddress
                stream.pointee.avail_out = UInt32(piece.count)
                let result = inflate(stream, Z_NO_FLUSH)
                return (
                    result, bytes.count - offset - Int(stream.pointee.avail_in),
                    piece.count - Int(stream.pointee.avail_out)
                )
            }
        }
    }
}

/// An encoder of the content coding gzip (RFC 9110, section 8.4.1.3).
package enum GzipEncoder {
    /// The fastest level of zlib that still finds the repetitions of a playlist.
    package static let fast: Int32 = 4
    /// The level of zlib with the smallest result, for files that are encoded once.
    package static let smallest: Int32 = 9
    /// The largest window, with the header and trailer of gzip (`deflateInit2` of zlib).
    private static let windowBits: Int32 = 15 + 16

    /// Returns the bytes as one gzip member (RFC 1952) by a level of zlib; nil if there is no memory for it, or if there
    /// are 2 GiB.
    package static func encode(_ bytes: [UInt8], level: Int32 = fast) -> [UInt8]? {
        guard bytes.count < Int(Int32.max) else { return nil }
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        guard czlib_deflate_begin(stream, level, windowBits) == Z_OK else { return nil }
        defer { deflateEnd(stream) }
        let capacity = Int(deflateBound(stream, UInt(bytes.count)))
        var isComplete = false
        let encoded = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
            bytes.withUnsafeBufferPointer { input in
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                isComplete = deflate(stream, Z_FINISH) == Z_STREAM_END
            }
            count = output.count - Int(stream.pointee.avail_out)
        }
        return isComplete ? encoded : nil
    }
}
