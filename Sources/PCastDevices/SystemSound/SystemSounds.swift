import PCastMedia

/// The sound that this machine plays, as sources: the monitors of a PulseAudio server, or of PipeWire's that speaks like
/// one.
///
/// Without such a server, ALSA's loopback card (`modprobe snd-aloop`) does it: programs play to `hw:Loopback,0`, and what
/// they play is the microphone `hw:Loopback,1`.
public enum SystemSounds {
    /// What stands before a source's name in its id.
    static let prefix = "pulse:"

    /// The id of whatever is the default when it plays: libpulse's own word for it.
    public static let standardID = prefix + "@DEFAULT_MONITOR@"

    /// What the default output plays, first, and then what each output plays; empty without a sound server. Starts none,
    /// and takes some milliseconds.
    ///
    /// - Parameter server: its address, as in `PULSE_SERVER`; nil for the one that libpulse finds.
    public static func enumerate(server: String? = nil) -> [SourceDevice] {
        guard let server = try? PulseServer(address: server) else { return [] }
        let sinks = PulseSink.all(of: server)
        let standard = PulseSink.standard(of: server).map {
            device(id: standardID, name: "What this machine plays (\($0.description))", $0)
        }
        return [standard].compactMap(\.self)
            + sinks.map { device(id: prefix + $0.monitor, name: "What \($0.description) plays", $0) }
    }

    private static func device(id: String, name: String, _ sink: PulseSink) -> SourceDevice {
        SourceDevice(
            info: SourceDeviceInfo(id: id, name: name, mediaType: .audio, deviceType: .systemOutput),
            identity: DeviceIdentity(name: sink.description),
            capabilities: .audio(AudioCapabilities(sampleRates: [sink.sampleRate], channels: 1...2)))
    }
}
