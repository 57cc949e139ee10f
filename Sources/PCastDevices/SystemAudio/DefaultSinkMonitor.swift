import CPulse

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
