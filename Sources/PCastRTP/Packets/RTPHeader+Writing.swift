extension RTPHeader {
    /// The most bytes that `write` makes: all extensions in the two-byte form.
    public static let maximumWrittenSize = 128

    /// Writes the fixed header and the extensions that the peer has ids for, in the one-byte form, or the two-byte
    /// form where an id needs it and the peer allows it (RFC 8285, section 4.1.2).
    ///
    /// The buffer has room for what is written; `maximumWrittenSize` bytes are always enough.
    public func write(
        into buffer: UnsafeMutableRawBufferPointer, extensions values: RTPExtensionValues,
        map: RTPHeaderExtensionMap
    ) -> RTPHeaderLayout {
        var layout = write(into: buffer)
        let twoByte = map.allowsTwoByte && Self.needsTwoByte(values, map)
        let start = layout.size + 4
        var cursor = start
        for rawValue in 0..<UInt8(RTPHeaderExtension.count) {
            guard let kind = RTPHeaderExtension(rawValue: rawValue), let id = map.id(of: kind),
                let size = values.size(of: kind), twoByte || id < 15
            else { continue }
            precondition(cursor + size + 5 <= buffer.count, "no room for the header extensions")
            cursor = Self.writeElementHeader(id: id, size: size, twoByte: twoByte, into: buffer, at: cursor)
            values.write(kind, into: buffer, at: cursor)
            layout.note(kind, at: cursor)
            cursor += size
        }
        guard cursor > start else { return layout }
        while (cursor - start) % 4 != 0 {
            buffer[cursor] = 0
            cursor += 1
        }
        buffer[0] |= 0x10
        buffer.storeBigEndian(UInt16(twoByte ? 0x1000 : 0xBEDE), at: layout.size)
        buffer.storeBigEndian(UInt16((cursor - start) / 4), at: layout.size + 2)
        layout.size = cursor
        return layout
    }

    /// Writes the fixed header alone.
    public func write(into buffer: UnsafeMutableRawBufferPointer) -> RTPHeaderLayout {
        precondition(buffer.count >= Self.fixedSize, "no room for an RTP header")
        precondition(payloadType < 128, "a payload type has seven bits")
        buffer[0] = 0x80 | (paddingSize > 0 ? 0x20 : 0)
        buffer[1] = (marker ? 0x80 : 0) | payloadType
        buffer.storeBigEndian(sequenceNumber, at: 2)
        buffer.storeBigEndian(timestamp, at: 4)
        buffer.storeBigEndian(ssrc, at: 8)
        return RTPHeaderLayout(size: Self.fixedSize)
    }

    /// Writes the `paddingSize` bytes that end the packet: zeros and their count (RFC 3550, section 5.1).
    public func writePadding(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
        Self.writePadding(paddingSize, into: buffer, at: offset)
    }

    /// Writes so many bytes of padding, of which none is no padding.
    public static func writePadding(_ paddingSize: Int, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
        guard paddingSize > 0 else { return }
        precondition(paddingSize < 256 && offset + paddingSize <= buffer.count, "no room for the padding")
        for index in offset..<offset + paddingSize - 1 { buffer[index] = 0 }
        buffer[offset + paddingSize - 1] = UInt8(paddingSize)
    }

    private static func needsTwoByte(_ values: RTPExtensionValues, _ map: RTPHeaderExtensionMap) -> Bool {
        for rawValue in 0..<UInt8(RTPHeaderExtension.count) {
            guard let kind = RTPHeaderExtension(rawValue: rawValue), let id = map.id(of: kind) else { continue }
            if id > 14, values.size(of: kind) != nil { return true }
        }
        return false
    }

    /// Answers where the data goes.
    private static func writeElementHeader(
        id: UInt8, size: Int, twoByte: Bool, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) -> Int {
        guard twoByte else {
            buffer[offset] = id << 4 | UInt8(size - 1)
            return offset + 1
        }
        buffer[offset] = id
        buffer[offset + 1] = UInt8(size)
        return offset + 2
    }
}

extension RTPHeaderLayout {
    fileprivate mutating func note(_ extension: RTPHeaderExtension, at offset: Int) {
        switch `extension` {
        case .transportSequenceNumber: transportSequenceNumberOffset = offset
        case .absoluteSendTime: absoluteSendTimeOffset = offset
        default: break
        }
    }
}
