import CFFmpeg
public import PCastMedia

/// A coded picture, piece of sound, text or metadata, and how it is coded.
public struct CodedPacket: @unchecked Sendable {  // never changed once made
    let holder: AVPacketHolder
    let format: CodedFormat
    /// The index of its stream.
    let track: Int32

    public var medium: PresentationMedium { format.medium }

    /// When it is to be decoded; nil when nobody says.
    public let decodingTime: TimeSpan?
    /// When it is shown; nil when nobody says.
    public let presentationTime: TimeSpan?
    /// Decoding can begin with it.
    public var isKeyFrame: Bool { holder.pointer.pointee.flags & AV_PKT_FLAG_KEY != 0 }
    /// How long it is shown or heard; nil when nobody says.
    public var duration: TimeSpan? {
        holder.pointer.pointee.duration > 0 ? .microseconds(holder.pointer.pointee.duration) : nil
    }
    public var size: Int { Int(holder.pointer.pointee.size) }

    /// - Parameter packet: with times in `CodedFormat.timeBase`; what it holds is taken out of it.
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

    /// The same at another time.
    ///
    /// - Parameters:
    ///   - expected: about when that is.
    ///   - wrap: after how long its clock begins anew: each of its times is taken in the turn that is nearest to what is
    ///     expected; nil for a clock that does not.
    public func moved(by offset: TimeSpan, near expected: TimeSpan, wrap: TimeSpan?) -> CodedPacket {
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
    /// A century: times further away are none, so that no sum of two overflows.
    private static var farthest: Int64 { 3_155_760_000_000_000 }

    /// Brings times into microseconds, and moves them.
    func place(from timeBase: AVRational, by offset: Int64) {
        av_packet_rescale_ts(self, timeBase, CodedFormat.timeBase)
        move(by: offset)
        pointee.duration = min(max(pointee.duration, 0), 3_600_000_000)
    }

    /// Times are in microseconds.
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
        return overflows || !(-farthest...farthest).contains(sum) ? none : sum
    }
}
