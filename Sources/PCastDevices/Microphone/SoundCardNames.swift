import CALSA

/// The driver's names of a card and its devices. Only users who may open the card can read them.
struct SoundCardNames {
    /// The driver, such as `USB-Audio` or `Loopback`.
    var driver: String
    /// The name of the card for display.
    var card: String
    /// The names of the capture devices, by number.
    var devices: [Int: String] = [:]

    /// Reads the names. Throws `PCMFailure` if the card may not be opened.
    init(_ card: SoundCard) throws(PCMFailure) {
        calsa_silence()
        var control: OpaquePointer?
        try PCMFailure.check("open", snd_ctl_open(&control, "hw:\(card.number)", Int32(SND_CTL_NONBLOCK)))
        defer { snd_ctl_close(control) }
        var info: OpaquePointer?
        try PCMFailure.check("card_info", snd_ctl_card_info_malloc(&info))
        defer { snd_ctl_card_info_free(info) }
        try PCMFailure.check("card_info", snd_ctl_card_info(control, info))
        driver = String(cString: snd_ctl_card_info_get_driver(info))
        self.card = String(cString: snd_ctl_card_info_get_name(info))
        for device in card.captureDevices { devices[device] = Self.name(of: device, control) }
    }

    private static func name(of device: Int, _ control: OpaquePointer?) -> String? {
        var info: OpaquePointer?
        guard snd_pcm_info_malloc(&info) >= 0 else { return nil }
        defer { snd_pcm_info_free(info) }
        snd_pcm_info_set_device(info, UInt32(device))
        snd_pcm_info_set_stream(info, SND_PCM_STREAM_CAPTURE)
        guard snd_ctl_pcm_info(control, info) >= 0 else { return nil }
        return String(cString: snd_pcm_info_get_name(info))
    }
}

extension SoundCard {
    /// The order of preference: USB, which was connected deliberately, then built-in hardware, then virtual cards.
    var rank: Int {
        if usb != nil { return 0 }
        let driver = (try? SoundCardNames(self))?.driver
        return driver.map { ["Loopback", "Dummy"].contains($0) } ?? false ? 2 : 1
    }
}
