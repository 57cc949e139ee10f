extension RTPHeader {
    /// The maximum size of a header with all extensions in bytes.
    package static let maximumWrittenSize = 128

    /// Writes the header with the extensions that have a negotiated id, and returns its layout.
    ///
    /// The elements have one-byte headers, or two-byte headers if an id requires them and the peer supports them (RFC
    /// 8285, section 4.1.2).
    ///
    /// - Precondition: The buffer is large enough; ``maximumWrittenSize`` bytes always suffice.
    ///
    /// - Parameters:
    ///   - buffer: The buffer.
    ///   - values: The elements.
    ///   - map: The negotiated ids.
    /// - Returns: The layout of the header.
    package func write(
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
            precondition(cursor + size + 5 <= buffer.count, "the buffer is too small for the header extensions")
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

    /// Writes a header without extensions, and returns its layout.
    package func write(into buffer: UnsafeMutableRawBufferPointer) -> RTPHeaderLayout {
        precondition(buffer.count >= Self.fixedSize, "the buffer is too small for an RTP header")
        precondition(payloadType < 128, "a payload type must have seven bits")
        buffer[0] = 0x80 | (paddingSize > 0 ? 0x20 : 0)
        buffer[1] = (marker ? 0x80 : 0) | payloadType
        buffer.storeBigEndian(sequenceNumber, at: 2)
        buffer.storeBigEndian(timestamp, at: 4)
        buffer.storeBigEndian(ssrc, at: 8)
        return RTPHeaderLayout(size: Self.fixedSize)
    }

    /// Writes the header's padding at the end of the packet: zeros and the number of bytes (RFC 3550, section 5.1).
    package func writePadding(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
        Self.writePadding(paddingSize, into: buffer, at: offset)
    }

    /// Writes padding of a size of less than 256 bytes; nothing if the size is 0.
    package static func writePadding(_ paddingSize: Int, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
        guard paddingSize > 0 else { return }
        precondition(
            paddingSize < 256 && offset + paddingSize <= buffer.count, "the buffer is too small for the padding")
        for index in offset..<offset + paddingSize - 1 { buffer[index] = 0 }
        buffer[offset + paddingSize - 1] = UInt8(paddingSize)
    }

    /// Returns whether an element has an id above 14.
    private static func needsTwoByte(_ values: RTPExtensionValues, _ map: RTPHeaderExtensionMap) -> Bool {
        for rawValue in 0..<UInt8(RTPHeaderExtension.count) {
            guard let kind = RTPHeaderExtension(rawValue: rawValue), let id = map.id(of: kind) else { continue }
            if id > 14, values.size(of: kind) != nil { return true }
        }
        return false
    }

    /// Writes the header of an element, and returns the offset of its data.
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
    /// Stores the offset of an element that is overwritten when the packet is sent.
    fileprivate mutating func note(_ extension: RTPHeaderExtension, at offset: Int) {
        switch `extension` {
        case .transportSequenceNumber: transportSequenceNumberOffset = offset
        case .absoluteSendTime: absoluteSendTimeOffset = offset
        default: break
        }
    }
}
