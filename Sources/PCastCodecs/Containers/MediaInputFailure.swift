import CFFmpeg

/// The reason why libavformat could not open or read a file or an address.
struct MediaInputFailure: Error {
    /// FFmpeg's error number, such as `AVERROR_INVALIDDATA`.
    var number: Int32
    /// The description of the error, or why the wait ended.
    var reason: String

    init(_ number: Int32, _ deadline: ReadingDeadline) {
        self.number = number
        reason = deadline.reason ?? CodecError.reason(number)
    }
}
