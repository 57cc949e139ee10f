/// Writes messages as chunks (RTMP 1.0, section 5.3.1). Each message begins with a complete header.
package struct RTMPChunkWriter: Sendable {
    /// The maximum size of a chunk in bytes, without its header. A change needs the message Set Chunk Size before.
    package var chunkSize = 128

    /// Creates a writer with the chunk size at the beginning of a connection.
    package init() {}

    /// Appends a message.
    ///
    /// - Parameters:
    ///   - message: The message of less than 16 MiB.
    ///   - chunkStream: The ID of the chunk stream, 2 to 63. Control messages use 2.
    ///   - bytes: The bytes of the connection.
    package func write(_ message: RTMPMessage, chunkStream: UInt8, into bytes: inout [UInt8]) {
        precondition((2..<64).contains(chunkStream), "the chunk stream needs one byte")
        precondition(message.payload.count <= 0xFF_FFFF, "the length of a message has 24 bits")
        let isExtended = message.timestamp >= 0xFF_FFFF
        bytes.append(chunkStream)
        bytes.append(bigEndian24: isExtended ? 0xFF_FFFF : message.timestamp)
        bytes.append(bigEndian24: UInt32(message.payload.count))
        bytes.append(message.type.rawValue)
        bytes.append(bigEndian: message.streamID.byteSwapped)
        if isExtended { bytes.append(bigEndian: message.timestamp) }
        var position = 0
        while position < message.payload.count {
            if position > 0 {
                bytes.append(0xC0 | chunkStream)
                if isExtended { bytes.append(bigEndian: message.timestamp) }
            }
            let end = min(position + chunkSize, message.payload.count)
            bytes += message.payload[position..<end]
            position = end
        }
    }
}
