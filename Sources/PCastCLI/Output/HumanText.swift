import Foundation
import PCast
import PCastCore

extension WallTime {
    /// The time in UTC in ISO 8601 format with milliseconds, such as `2026-08-01T12:00:00.000Z`.
    var timestampText: String {
        let (days, millisecondsOfDay) = millisecondsSinceEpoch.flooredQuotientAndRemainder(dividingBy: 86_400_000)
        let (year, month, day) = Self.civilDate(daysSinceEpoch: days)
        let (seconds, milliseconds) = millisecondsOfDay.quotientAndRemainder(dividingBy: 1_000)
        let date = "\(year.padded(4))-\(month.padded(2))-\(day.padded(2))"
        let time = "\((seconds / 3_600).padded(2)):\((seconds / 60 % 60).padded(2)):\((seconds % 60).padded(2))"
        return "\(date)T\(time).\(milliseconds.padded(3))Z"
    }

    /// Returns the proleptic Gregorian date. The calculation uses years that begin in March, so that a leap day is the
    /// last day.
    private static func civilDate(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (daysSinceEpoch + 719_468).flooredQuotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}

extension Int64 {
    fileprivate func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }

    fileprivate func flooredQuotientAndRemainder(dividingBy divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

extension TimeSpan {
    /// The duration such as `1:02:03`, or `02:03` if it is below an hour.
    var clockText: String {
        let total = Swift.max(0, nanoseconds / 1_000_000_000)
        let rest = "\((total / 60 % 60).padded(2)):\((total % 60).padded(2))"
        return total < 3_600 ? rest : "\(total / 3_600):\(rest)"
    }
}

/// Formats of numbers for users. An unknown number is a dash.
enum Figure {
    static func bitrate(_ bitsPerSecond: Double?) -> String {
        guard let bitsPerSecond else { return "–" }
        return bitsPerSecond < 1e6
            ? String(format: "%.0f kbit/s", bitsPerSecond / 1e3) : String(format: "%.2f Mbit/s", bitsPerSecond / 1e6)
    }

    static func milliseconds(_ value: Double?) -> String {
        value.map { String(format: $0 < 10 ? "%.1f ms" : "%.0f ms", $0) } ?? "–"
    }

    static func percent(_ part: Double, of whole: Double) -> String {
        whole > 0 ? String(format: "%.1f %%", 100 * part / whole) : "–"
    }
}

/// The text of source devices for users.
enum DeviceText {
    /// Returns a line such as `video  usb-046d_C920-video-index0  HD Pro Webcam C920 (user)`.
    static func line(_ device: SourceDeviceInfo) -> String {
        var properties: [String] = []
        if device.facingMode != .undefined { properties.append(device.facingMode.rawValue) }
        if device.location != .automatic { properties.append(device.location.rawValue) }
        let annotation = properties.isEmpty ? "" : " (\(properties.joined(separator: ", ")))"
        return "\(device.mediaType.rawValue)  \(device.id)  \(device.name)\(annotation)"
    }

    /// Returns the lines with the capabilities of a device.
    static func capabilities(_ device: SourceDevice) -> [String] {
        switch device.capabilities {
        case .video(let video):
            device.info.deviceType != .physical
                ? formats(video.formats)
                : formats(video.formats) + controls(video.controls)
                    + annotation("flash", video.flashModes.map(\.rawValue))
                    + annotation("focus", video.autoFocusModes.map(\.rawValue))
                    + (video.hasFocusTarget ? ["       focus on a point of the frame"] : [])
                    + (video.mountRotation == 0 ? [] : ["       mounted at \(video.mountRotation * 90) degrees"])
        case .audio(let audio):
            [
                "       \(audio.sampleRates.map(String.init).joined(separator: ", ")) Hz, "
                    + (audio.channels.count == 1
                        ? "\(audio.channels.lowerBound) channels"
                        : "\(audio.channels.lowerBound) to \(audio.channels.upperBound) channels")
            ] + controls(audio.controls) + annotation("polar pattern", audio.polarPatterns.map(\.rawValue))
        }
    }

    /// Returns a line for each format with its sizes and frame rates.
    private static func formats(_ formats: [CaptureFormat]) -> [String] {
        formats.map { format in
            let size =
                switch format.sizes {
                case .discrete(let size): "\(size)"
                case .stepwise(let smallest, let largest, let step): "\(smallest) to \(largest) in steps of \(step)"
                }
            let rates =
                switch format.rates {
                case .discrete(let rates): rates.map(\.description).joined(separator: ", ")
                case .range(let slowest, let fastest, _): "\(slowest) to \(fastest)"
                }
            let name = format.encoding.name
            return "       \(name)\(String(repeating: " ", count: max(1, 7 - name.count)))\(size) at \(rates) fps"
        }
    }

    private static func controls(_ controls: [DeviceControl]) -> [String] {
        controls.isEmpty ? [] : ["       controls: \(controls.map(\.name).joined(separator: ", "))"]
    }

    private static func annotation(_ name: String, _ words: [String]) -> [String] {
        words.isEmpty ? [] : ["       \(name): \(words.sorted().joined(separator: ", "))"]
    }
}
