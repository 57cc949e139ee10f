import CPulse

/// An output of a audio server. Its monitor is the source of the audio that it plays.
struct PulseSink: Hashable {
    let name: String
    /// The name for display.
    let description: String
    let monitor: String
    let sampleRate: Int

    /// Returns all sinks of a server.
    static func all(of server: PulseServer) -> [PulseSink] {
        let found: [PulseSink]? = server.ask { context, pointer, _ in
            pa_context_get_sink_info_list(
                context, { _, info, end, pointer in PulseSink.receive(info, end, pointer) }, pointer)
        }
        return found ?? []
    }

    /// Returns the default sink; nil if there is none.
    static func standard(of server: PulseServer) -> PulseSink? {
        let names: [String]? = server.ask { context, pointer, _ in
            pa_context_get_server_info(
                context,
                { _, info, pointer in
                    let answer = PulseReply<String>.at(pointer)
                    if let name = info?.pointee.default_sink_name { answer.append(String(cString: name)) }
                    answer.end()
                }, pointer)
        }
        guard let name = names?.first else { return nil }
        let found: [PulseSink]? = server.ask { context, pointer, _ in
            pa_context_get_sink_info_by_name(
                context, name, { _, info, end, pointer in PulseSink.receive(info, end, pointer) }, pointer)
        }
        return found?.first
    }

    private static func receive(
        _ info: UnsafePointer<pa_sink_info>?, _ end: Int32, _ pointer: UnsafeMutableRawPointer?
    ) {
        let answer = PulseReply<PulseSink>.at(pointer)
        guard end == 0, let info = info?.pointee else { return answer.end() }
        guard let name = info.name, let monitor = info.monitor_source_name else { return }
        answer.append(
            PulseSink(
                name: String(cString: name), description: String(cString: info.description ?? name),
                monitor: String(cString: monitor), sampleRate: Int(info.sample_spec.rate)))
    }
}

/// Detects changes of the server's settings, which include the default sink. Only one thread may use it at a time.
final class DefaultSinkMonitor {
    private let server: PulseServer
    private var hasChanged = false

    init(of server: PulseServer) {
        self.server = server
        pa_context_set_subscribe_callback(
            server.context,
            { _, _, _, pointer in
                Unmanaged<DefaultSinkMonitor>.fromOpaque(pointer!).takeUnretainedValue().hasChanged = true
            }, Unmanaged.passUnretained(self).toOpaque())
        if let operation = pa_context_subscribe(server.context, PA_SUBSCRIPTION_MASK_SERVER, nil, nil) {
            pa_operation_unref(operation)
        }
    }

    deinit { pa_context_set_subscribe_callback(server.context, nil, nil) }

    /// Returns the default sink if the settings have changed since the last call; nil otherwise, or if there is none.
    func changed() -> PulseSink? {
        guard hasChanged else { return nil }
        hasChanged = false
        return PulseSink.standard(of: server)
    }
}
