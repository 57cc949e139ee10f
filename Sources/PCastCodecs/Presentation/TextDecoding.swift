import CFFmpeg
import PCastCore

/// Decodes the subtitles of a presentation to plain text.
final class TextDecoding {
    let format: CodedFormat
    private let decoder: AVCodecContextHolder
    private var beginning: TimeSpan

    /// The duration of a text if neither the packet nor the container gives one.
    private static let defaultDuration = TimeSpan.seconds(4 as Int64)

    /// Opens the decoder. Returns nil if the format has none.
    init?(_ format: CodedFormat, beginning: TimeSpan) throws(CodecError) {
        guard let decoder = try format.decoder() else { return nil }
        (self.format, self.decoder, self.beginning) = (format, decoder, beginning)
    }

    func begin(at position: TimeSpan) {
        avcodec_flush_buffers(decoder.pointer)
        beginning = position
    }

    func skip(to position: TimeSpan) { beginning = position }

    func decode(_ packet: UnsafeMutablePointer<AVPacket>, into samples: inout [PresentationSample]) {
        var subtitle = AVSubtitle()
        var isThere: Int32 = 0
        guard avcodec_decode_subtitle2(decoder.pointer, &subtitle, &isThere, packet) >= 0, isThere != 0
        else { return }
        defer { avsubtitle_free(&subtitle) }
        guard packet.pointee.pts != cffmpeg_no_timestamp() else { return }
        let start = TimeSpan.microseconds(packet.pointee.pts)
        let duration =
            packet.pointee.duration > 0 ? .microseconds(packet.pointee.duration) : Self.defaultDuration
        let lines = (0..<Int(subtitle.num_rects)).compactMap { index -> String? in
            guard let rectangle = subtitle.rects[index] else { return nil }
            if let dialogue = rectangle.pointee.ass {
                return SubtitleText.plain(dialogue: String(cString: dialogue))
            }
            return rectangle.pointee.text.map { String(cString: $0) }
        }
        guard start + duration > beginning else { return }
        samples.append(.text(lines.joined(separator: "\n"), start...(start + duration)))
    }
}

/// Converts libavcodec's subtitles, which are ASS dialogue lines for every input format, to plain text. A dialogue has
/// eight fields before the text, and formatting in braces.
enum SubtitleText {
    static func plain(dialogue: String) -> String {
        let fields = dialogue.split(separator: ",", maxSplits: 8, omittingEmptySubsequences: false)
        var text = ""
        var isOverride = false
        var isEscape = false
        for character in fields.count == 9 ? fields[8] : "" {
            if isEscape {
                isEscape = false
                switch character {
                case "N", "n": text.append("\n")
                case "h": text.append(" ")
                default: text.append("\\\(character)")
                }
            } else if isOverride {
                isOverride = character != "}"
            } else if character == "{" {
                isOverride = true
            } else if character == "\\" {
                isEscape = true
            } else {
                text.append(character)
            }
        }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
