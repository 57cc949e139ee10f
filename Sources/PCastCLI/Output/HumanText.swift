import Foundation
import PCast
import PCastCore

extension WallTime {
    /// The time in UTC in ISO 8601 format with milliseconds, such as `2026-08-01T12:00:00.000Z`.
    var timestampText: String { Timestamp.text(self) }
}

extension Int64 {
    fileprivate func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
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

    static func milliseconds(_ duration: Duration?) -> String { milliseconds(duration?.milliseconds) }

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

    /// Returns the measured speeds of an encoder, to be appended to its line; empty if there are none.
    static func speeds(_ speeds: [VideoEncodingSpeed]) -> String {
        speeds.map { ", \($0.dimensions) at \(Int($0.framesPerSecond.rounded(.down))) frames per second" }.joined()
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
