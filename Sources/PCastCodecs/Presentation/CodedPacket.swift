import CFFmpeg
package import PCastCore

/// An encoded frame, audio packet, text or metadata, with its format.
package struct CodedPacket: @unchecked Sendable {  // immutable
    let holder: AVPacketHolder
    let format: CodedFormat
    /// The index of the stream.
    let track: Int32

    /// The kind of media.
    package var medium: PresentationMedium { format.medium }

    /// The decoding time; nil if it is unknown.
    package let decodingTime: TimeSpan?
    /// The presentation time; nil if it is unknown.
    package let presentationTime: TimeSpan?
    /// Whether decoding can start with it.
    package var isKeyFrame: Bool { holder.pointer.pointee.flags & AV_PKT_FLAG_KEY != 0 }
    /// The duration; nil if it is unknown.
    package var duration: TimeSpan? {
        holder.pointer.pointee.duration > 0 ? .microseconds(holder.pointer.pointee.duration) : nil
    }
    /// The number of bytes.
    package var size: Int { Int(holder.pointer.pointee.size) }

    /// Takes the content out of `packet`, whose times are in `CodedFormat.timeBase`.
    init(taking packet: UnsafeMutablePointer<AVPacket>, _ format: CodedFormat) {
        holder = AVPacketHolder()
        self.format = format
        track = packet.pointee.stream_index
        av_packet_move_ref(holder.pointer, packet)
        func span(_ time: Int64) -> TimeSpan? {
            time == cffmpeg_no_timestamp() ? nil : .microseconds(time)
        }
        presentationTime = span(holder.pointer.pointee.pts)
        decodingTime = span(holder.pointer.pointee.dts) ?? presentationTime
    }

    /// Returns the packet with its times shifted by an offset.
    ///
    /// - Parameters:
    ///   - offset: The duration that is added.
    ///   - expected: The approximate time of the result.
    ///   - wrap: The duration after which the packet's clock wraps around: each time is unwrapped to the value nearest
    ///     to `expected`. Nil for a clock that does not wrap.
    /// - Returns: The shifted packet.
    package func moved(by offset: TimeSpan, near expected: TimeSpan, wrap: TimeSpan?) -> CodedPacket {
        let copy = AVPacketHolder()
        av_packet_ref(copy.pointer, holder.pointer)
        copy.pointer.move(by: offset.nanoseconds / 1_000)
        if let wrap {
            copy.pointer.unwind(near: expected.nanoseconds / 1_000, wrap: Double(wrap.nanoseconds) / 1_000)
        }
        return CodedPacket(taking: copy.pointer, format)
    }
}

extension UnsafeMutablePointer<AVPacket> {
    /// A century in microseconds. Times beyond it are invalid, so that no sum of two times overflows.
    private static var maximumMagnitude: Int64 { 3_155_760_000_000_000 }

    /// Converts the times to microseconds, shifts them, and limits the duration to one hour.
    func rescale(from timeBase: AVRational, by offset: Int64) {
        av_packet_rescale_ts(self, timeBase, CodedFormat.timeBase)
        move(by: offset)
        pointee.duration = min(max(pointee.duration, 0), 3_600_000_000)
    }

    /// Shifts the times, which are in microseconds.
    func move(by offset: Int64) {
        pointee.pts = Self.moved(pointee.pts, by: offset)
        pointee.dts = Self.moved(pointee.dts, by: offset)
    }

    /// Times are in microseconds, and no further away than a century.
    func unwind(near expected: Int64, wrap: Double) {
        func unwound(_ time: Int64) -> Int64 {
            guard time != cffmpeg_no_timestamp() else { return time }
            return time + Int64((Double(expected - time) / wrap).rounded() * wrap)
        }
        (pointee.pts, pointee.dts) = (unwound(pointee.pts), unwound(pointee.dts))
    }

    private static func moved(_ time: Int64, by offset: Int64) -> Int64 {
        let none = cffmpeg_no_timestamp()
        guard time != none else { return none }
        let (sum, overflows) = time.addingReportingOverflow(offset)
        return overflows || !(-maximumMagnitude...maximumMagnitude).contains(sum) ? none : sum
    }
}
