import CFFmpeg

/// Why libavformat gave up on a file or an address.
struct MediaInputFailure: Error {
    /// libav's; such as `AVERROR_INVALIDDATA`.
    var number: Int32
    /// In words, or why it was not waited for any longer.
    var reason: String

    init(_ number: Int32, _ deadline: ReadingDeadline) {
        self.number = number
        reason = deadline.reason ?? CodecError.reason(number)
    }
}
