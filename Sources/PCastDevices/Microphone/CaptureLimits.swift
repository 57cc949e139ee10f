import CALSA
import Glibc

/// The sample rates and channels that a PCM device supports.
struct CaptureLimits: Hashable {
    /// The common sample rates. Others are never the better choice.
    static let commonRates = [
        8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 88_200, 96_000, 176_400, 192_000,
    ]

    /// The sample rates in Hz, ascending.
    var rates: [Int]
    var channels: ClosedRange<Int>

    init(rates: [Int], channels: ClosedRange<Int>) {
        self.rates = rates
        self.channels = channels
    }

    /// Queries an open PCM device that is not configured. Returns nil if it does not answer.
    init?(_ pcm: OpaquePointer) {
        var parameters: OpaquePointer?
        guard snd_pcm_hw_params_malloc(&parameters) >= 0 else { return nil }
        defer { snd_pcm_hw_params_free(parameters) }
        guard snd_pcm_hw_params_any(pcm, parameters) >= 0 else { return nil }
        // alsa-lib's resampling is not a capability of the hardware.
        snd_pcm_hw_params_set_rate_resample(pcm, parameters, 0)
        rates = Self.commonRates.filter { snd_pcm_hw_params_test_rate(pcm, parameters, UInt32($0), 0) == 0 }
        var (least, most) = (UInt32(1), UInt32(1))
        guard snd_pcm_hw_params_get_channels_min(parameters, &least) >= 0,
            snd_pcm_hw_params_get_channels_max(parameters, &most) >= 0, least >= 1, least <= most
        else { return nil }
        channels = Int(least)...Int(clamping: most)
    }

    /// Opens a device and queries it. Throws `PCMFailure` if another program uses it or it may not be opened.
    init?(opening name: String) throws(PCMFailure) {
        calsa_silence()
        var pcm: OpaquePointer?
        try PCMFailure.check("open", snd_pcm_open(&pcm, name, SND_PCM_STREAM_CAPTURE, Int32(SND_PCM_NONBLOCK)))
        defer { snd_pcm_close(pcm) }
        self.init(pcm!)
    }

    /// Parses the description of a USB audio device in `/proc/asound/card0/stream0`, which is available while the
    /// device is in use. Returns nil if it is incomplete.
    init?(usbStream text: String) {
        var rates: Set<Int> = []
        var channels: [Int] = []
        for line in text.split(separator: "\n").drop(while: { $0 != "Capture:" }) {
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.drop { $0 == " " } }
            guard parts.count == 2 else { continue }
            switch parts[0] {
            case "Channels": channels += Int(parts[1].prefix { $0.isNumber }).map { [$0] } ?? []
            case "Rates": rates.formUnion(Self.rates(in: parts[1]))
            default: break
            }
        }
        guard let least = channels.min(), let most = channels.max(), least >= 1 else { return nil }
        self.init(rates: rates.sorted(), channels: least...most)
    }

    /// Parses "44100, 48000" or "8000 - 48000 (continuous)".
    private static func rates(in text: Substring) -> [Int] {
        let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
        guard text.hasSuffix("(continuous)") else { return numbers }
        guard numbers.count == 2, numbers[0] <= numbers[1] else { return [] }
        return commonRates.filter { (numbers[0]...numbers[1]).contains($0) }
    }
}
