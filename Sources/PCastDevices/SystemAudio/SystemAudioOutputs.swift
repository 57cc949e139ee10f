import PCastCore

/// The audio that this machine plays, as sources: the monitors of a PulseAudio-compatible server.
///
/// Without such a server, ALSA's loopback card (`modprobe snd-aloop`) can be used: programs play to `hw:Loopback,0`,
/// and the microphone `hw:Loopback,1` captures that.
package enum SystemAudioOutputs {
    /// The prefix of the identifiers.
    static let prefix = "pulse:"

    /// The identifier of the default output, with libpulse's own name for it.
    package static let standardID = prefix + "@DEFAULT_MONITOR@"

    /// Returns the default output, then every output; empty without a audio server. It does not start a server, and
    /// takes some milliseconds. The address is that of `PULSE_SERVER`; nil for the one that libpulse finds.
    package static func enumerate(server: String? = nil) -> [SourceDevice] {
        guard let server = try? PulseServer(address: server) else { return [] }
        let sinks = PulseSink.all(of: server)
        let standard = PulseSink.standard(of: server).map {
            device(id: standardID, name: "Audio output of this host (\($0.description))", $0)
        }
        return [standard].compactMap(\.self)
            + sinks.map { device(id: prefix + $0.monitor, name: "Audio of \($0.description)", $0) }
    }

    private static func device(id: String, name: String, _ sink: PulseSink) -> SourceDevice {
        SourceDevice(
            info: SourceDeviceInfo(id: id, name: name, mediaType: .audio, deviceType: .systemOutput),
            identity: DeviceIdentity(name: sink.description),
            capabilities: .audio(AudioCapabilities(sampleRates: [sink.sampleRate], channels: 1...2)))
    }
}
