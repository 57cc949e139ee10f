import ArgumentParser
import Foundation
import PCast
import PCastCore

/// The source of video or audio, which `SourceSpecification` parses.
struct SourceArgument: ExpressibleByArgument, Equatable {
    let source: SourceSpecification

    init?(argument: String) {
        guard let source = try? SourceSpecification(argument) else { return nil }
        self.source = source
    }
}

/// A bit rate from 10 kbit/s to 100 Mbit/s, written as `2500k`, `2.5M`, or `2500000` in bits per second.
struct BitrateArgument: ExpressibleByArgument, Equatable {
    let bitrate: Bitrate

    init?(argument: String) {
        var digits = argument.lowercased()[...]
        var factor = 1.0
        if digits.hasSuffix("k") { factor = 1e3 }
        if digits.hasSuffix("m") { factor = 1e6 }
        if factor > 1 { digits = digits.dropLast() }
        guard digits.first?.isNumber == true, digits.allSatisfy({ $0.isNumber || $0 == "." }),
            let number = Double(digits), (10_000...100_000_000).contains(number * factor)
        else { return nil }
        bitrate = Bitrate(bitsPerSecond: Int64((number * factor).rounded()))
    }
}

/// The codec of published video.
enum CodecArgument: String, ExpressibleByArgument, CaseIterable {
    case h264, vp8, vp9, av1, h265

    /// The codec.
    var codec: Codec {
        switch self {
        case .h264: .h264
        case .vp8: .vp8
        case .vp9: .vp9
        case .av1: .av1
        case .h265: .h265
        }
    }
}

/// The media type of the devices to list.
enum DeviceMediaArgument: String, ExpressibleByArgument, CaseIterable {
    case video, audio
}

/// The target of rendered video.
enum RenderArgument: String, ExpressibleByArgument, CaseIterable {
    case null, window, terminal
}

/// The size of a frame, such as `1280x720`. Both sides are even, as 4:2:0 video requires, and from 16 to 4096.
struct SizeArgument: ExpressibleByArgument, Equatable, CustomStringConvertible {
    let width: Int
    let height: Int

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    init?(argument: String) {
        let sides = argument.lowercased().split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard sides.count == 2, let width = sides[0], let height = sides[1] else { return nil }
        guard [width, height].allSatisfy({ (16...4096).contains($0) && $0.isMultiple(of: 2) }) else { return nil }
        self.init(width: width, height: height)
    }

    var description: String { "\(width)x\(height)" }
}

/// The captions of a published stream.
enum CaptionsArgument: Sendable, Equatable {
    /// The cues of a file.
    case file(TimedText)
    /// The lines of standard input.
    case standardInput

    /// The maximum size of a file in bytes.
    private static let maximumSize = 16 << 20

    /// Reads a file; `-` is standard input, which is read later.
    ///
    /// - Throws: ``CommandFailure`` if the file cannot be read or parsed.
    init(file: String) throws(CommandFailure) {
        guard file != "-" else {
            self = .standardInput
            return
        }
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: file)) else {
            throw CommandFailure(.unusableArguments, "--captions: “\(file)” cannot be read.")
        }
        guard data.count <= Self.maximumSize else {
            throw CommandFailure(.unusableArguments, "--captions: “\(file)” has more than 16 MiB.")
        }
        do throws(TimedTextError) {
            self = .file(try TimedText(parsing: String(decoding: data, as: UTF8.self)))
        } catch {
            throw CommandFailure(.unusableArguments, "--captions: “\(file)”, \(error)")
        }
    }
}
