/// Descriptions of GStreamer 1.22, or of aiortc 1.16 in answer to it.
extension SDPSamples {
    static let gstreamerViewerAnswer = """
        v=0
        o=- 4004208721 4004208721 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE video0 audio1
        a=msid-semantic:WMS *
        m=video 52227 UDP/TLS/RTP/SAVPF 96
        c=IN IP4 127.0.1.1
        a=sendonly
        a=mid:video0
        a=msid:32ea73f8-f707-4947-8284-019eed0a0e59 bd46f9d9-f412-44cb-9dee-fdf3d9485027
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:1803954017 cname:7a2c12ac-fed8-4f39-83f7-d62707629dad
        a=rtpmap:96 H264/90000
        a=rtcp-fb:96 nack pli
        a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 52227 typ host
        a=end-of-candidates
        a=ice-ufrag:YVAb
        a=ice-pwd:nWNICXKUIDskEVPcA0kbvi
        a=fingerprint:sha-256 71:F0:A3:C2:53:A7:20:46:68:F6:39:F2:22:D0:23:C6:6D:DD:77:9B:74:DA:6F:F0:EE:B0:86:F\
        B:06:87:E6:25
        a=fingerprint:sha-384 8C:58:84:E2:64:9A:8A:F5:87:0A:1E:FF:80:27:58:A9:20:72:38:7D:5A:C1:B4:F3:AF:C9:C0:B\
        5:E8:CF:99:69:AF:96:70:FC:12:60:1E:36:42:02:47:7D:A0:9A:59:EF
        a=fingerprint:sha-512 BA:96:02:5A:87:A1:76:3A:FF:3D:2A:BC:DC:D3:92:79:9C:84:58:42:A0:27:51:D5:42:1D:65:B\
        5:89:C6:3E:33:53:F4:2A:75:E9:7A:CB:8F:6F:07:44:47:63:EA:6F:F8:D8:DC:23:2A:EB:EB:66:E2:13:27:29:09:53:81:\
        99:79
        a=setup:active
        m=audio 52227 UDP/TLS/RTP/SAVPF 97
        c=IN IP4 127.0.1.1
        a=sendonly
        a=mid:audio1
        a=msid:32ea73f8-f707-4947-8284-019eed0a0e59 81540361-a655-4b47-a518-2c9c9ae21adf
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:396713237 cname:7a2c12ac-fed8-4f39-83f7-d62707629dad
        a=rtpmap:97 opus/48000/2
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 52227 typ host
        a=end-of-candidates
        a=ice-ufrag:YVAb
        a=ice-pwd:nWNICXKUIDskEVPcA0kbvi
        a=fingerprint:sha-256 71:F0:A3:C2:53:A7:20:46:68:F6:39:F2:22:D0:23:C6:6D:DD:77:9B:74:DA:6F:F0:EE:B0:86:F\
        B:06:87:E6:25
        a=fingerprint:sha-384 8C:58:84:E2:64:9A:8A:F5:87:0A:1E:FF:80:27:58:A9:20:72:38:7D:5A:C1:B4:F3:AF:C9:C0:B\
        5:E8:CF:99:69:AF:96:70:FC:12:60:1E:36:42:02:47:7D:A0:9A:59:EF
        a=fingerprint:sha-512 BA:96:02:5A:87:A1:76:3A:FF:3D:2A:BC:DC:D3:92:79:9C:84:58:42:A0:27:51:D5:42:1D:65:B\
        5:89:C6:3E:33:53:F4:2A:75:E9:7A:CB:8F:6F:07:44:47:63:EA:6F:F8:D8:DC:23:2A:EB:EB:66:E2:13:27:29:09:53:81:\
        99:79
        a=setup:active
        """

    static let gstreamerViewerOffer = """
        v=0
        o=- 4131574074904493613 0 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=ice-options:trickle
        a=group:BUNDLE video0 audio1
        m=video 9 UDP/TLS/RTP/SAVPF 96
        c=IN IP4 0.0.0.0
        a=setup:actpass
        a=ice-ufrag:1M088BV7mySsG4vLDnm4CLW5MFdkIah6
        a=ice-pwd:0P/1jv2r4nkmDJ32fDmeAxaqJL9hmQNu
        a=rtcp-mux
        a=rtcp-rsize
        a=recvonly
        a=rtpmap:96 H264/90000
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 transport-cc
        a=fmtp:96 packetization-mode=1;profile-level-id=42e01f
        a=mid:video0
        a=fingerprint:sha-256 8D:10:9A:65:F3:CD:17:B5:D6:E5:98:5B:57:A3:D4:F7:02:6F:EE:6E:ED:E8:A8:2C:A8:18:F2:A\
        A:C5:1F:8E:B3
        a=rtcp-mux-only
        a=candidate:1 1 UDP 2015363327 127.0.1.1 37618 typ host
        a=candidate:2 1 TCP 1015021823 127.0.1.1 9 typ host tcptype active
        a=candidate:3 1 TCP 1010827519 127.0.1.1 50115 typ host tcptype passive
        a=candidate:4 1 UDP 2015363583 fe80::d0a3:44ff:feb0:2da8 50230 typ host
        a=candidate:5 1 TCP 1015022079 fe80::d0a3:44ff:feb0:2da8 9 typ host tcptype active
        a=candidate:6 1 TCP 1010827775 fe80::d0a3:44ff:feb0:2da8 48335 typ host tcptype passive
        a=candidate:7 1 UDP 2015363839 fe80::8c98:dfff:febe:5059 45301 typ host
        a=candidate:8 1 TCP 1015022335 fe80::8c98:dfff:febe:5059 9 typ host tcptype active
        a=candidate:9 1 TCP 1010828031 fe80::8c98:dfff:febe:5059 56001 typ host tcptype passive
        m=audio 0 UDP/TLS/RTP/SAVPF 97
        c=IN IP4 0.0.0.0
        a=setup:actpass
        a=ice-ufrag:1M088BV7mySsG4vLDnm4CLW5MFdkIah6
        a=ice-pwd:0P/1jv2r4nkmDJ32fDmeAxaqJL9hmQNu
        a=bundle-only
        a=rtcp-mux
        a=rtcp-rsize
        a=recvonly
        a=rtpmap:97 OPUS/48000/2
        a=rtcp-fb:97 transport-cc
        a=mid:audio1
        a=fingerprint:sha-256 8D:10:9A:65:F3:CD:17:B5:D6:E5:98:5B:57:A3:D4:F7:02:6F:EE:6E:ED:E8:A8:2C:A8:18:F2:A\
        A:C5:1F:8E:B3
        a=rtcp-mux-only
        """

    static let gstreamerPublisherAnswer = """
        v=0
        o=- 4004208723 4004208723 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE video0 audio1
        a=msid-semantic:WMS *
        m=video 60826 UDP/TLS/RTP/SAVPF 96
        c=IN IP4 127.0.1.1
        a=recvonly
        a=mid:video0
        a=msid:32a5bd0d-ed25-42a0-9ae1-94e4dd060148 badfa6d9-5baf-42d0-b8d5-ad76fa9bdd99
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:3097041488 cname:0a2f864a-e6d9-4b9d-97b0-a9fc8d24de9e
        a=rtpmap:96 H264/90000
        a=rtcp-fb:96 nack pli
        a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 60826 typ host
        a=end-of-candidates
        a=ice-ufrag:T3mf
        a=ice-pwd:UnHO7EEdwNhc5SmaCXCtK3
        a=fingerprint:sha-256 4A:62:72:04:79:39:1B:10:A8:A3:B8:31:0B:7B:F1:91:5A:E5:7D:7F:A6:F4:0F:01:3D:97:A1:3\
        2:59:36:95:60
        a=fingerprint:sha-384 B0:51:92:A2:92:73:63:4C:42:69:EC:93:2E:50:D7:7D:79:CD:9E:07:F7:DC:56:EE:E9:1E:DF:3\
        5:C7:A1:16:F1:77:C2:FC:C1:ED:9A:BD:B8:EA:94:E5:FF:72:47:5E:E3
        a=fingerprint:sha-512 06:05:B5:8A:8F:EC:D1:95:4F:61:15:24:89:98:41:F1:54:0D:17:71:16:E3:5F:9E:BF:C4:26:6\
        6:6E:A0:EF:16:51:82:C9:C1:64:95:12:7B:6D:A4:1B:87:32:25:85:48:49:78:DA:DE:39:DD:FC:6C:FC:2F:08:3C:A0:8E:\
        A9:BE
        a=setup:active
        m=audio 60826 UDP/TLS/RTP/SAVPF 97
        c=IN IP4 127.0.1.1
        a=recvonly
        a=mid:audio1
        a=msid:32a5bd0d-ed25-42a0-9ae1-94e4dd060148 5d6d48fa-7e6b-4273-af9b-9f1a4689a00e
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:3214013950 cname:0a2f864a-e6d9-4b9d-97b0-a9fc8d24de9e
        a=rtpmap:97 opus/48000/2
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 60826 typ host
        a=end-of-candidates
        a=ice-ufrag:T3mf
        a=ice-pwd:UnHO7EEdwNhc5SmaCXCtK3
        a=fingerprint:sha-256 4A:62:72:04:79:39:1B:10:A8:A3:B8:31:0B:7B:F1:91:5A:E5:7D:7F:A6:F4:0F:01:3D:97:A1:3\
        2:59:36:95:60
        a=fingerprint:sha-384 B0:51:92:A2:92:73:63:4C:42:69:EC:93:2E:50:D7:7D:79:CD:9E:07:F7:DC:56:EE:E9:1E:DF:3\
        5:C7:A1:16:F1:77:C2:FC:C1:ED:9A:BD:B8:EA:94:E5:FF:72:47:5E:E3
        a=fingerprint:sha-512 06:05:B5:8A:8F:EC:D1:95:4F:61:15:24:89:98:41:F1:54:0D:17:71:16:E3:5F:9E:BF:C4:26:6\
        6:6E:A0:EF:16:51:82:C9:C1:64:95:12:7B:6D:A4:1B:87:32:25:85:48:49:78:DA:DE:39:DD:FC:6C:FC:2F:08:3C:A0:8E:\
        A9:BE
        a=setup:active
        """

    static let gstreamerPublisherOffer = """
        v=0
        o=- 7918889234401934212 0 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=ice-options:trickle
        a=group:BUNDLE video0 audio1
        m=video 9 UDP/TLS/RTP/SAVPF 96
        c=IN IP4 0.0.0.0
        a=setup:actpass
        a=ice-ufrag:JqNRg8UcfRDd3dLozK/94oRs5Sd6LXVC
        a=ice-pwd:CbdHpfEPluwv1USmfaXhg7wuH4tERdG4
        a=rtcp-mux
        a=rtcp-rsize
        a=sendonly
        a=rtpmap:96 H264/90000
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 transport-cc
        a=framerate:30
        a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0LAHtoCgL/lwFqDAwNSgAAAAwCAAAAeR4sXUA==,aM48gA==;pr\
        ofile-level-id=42c01e;level-asymmetry-allowed=1
        a=ssrc:1234691966 msid:user2454784183@host-34dfee1e webrtctransceiver0
        a=ssrc:1234691966 cname:user2454784183@host-34dfee1e
        a=mid:video0
        a=fingerprint:sha-256 49:06:3C:E4:09:2C:4A:0F:77:7A:79:B1:85:4D:2C:89:19:12:9D:52:1B:8E:FC:1B:31:61:11:1\
        8:F0:F6:32:6A
        a=rtcp-mux-only
        a=candidate:1 1 UDP 2015363327 127.0.1.1 50584 typ host
        a=candidate:2 1 TCP 1015021823 127.0.1.1 9 typ host tcptype active
        a=candidate:3 1 TCP 1010827519 127.0.1.1 42587 typ host tcptype passive
        a=candidate:4 1 UDP 2015363583 fe80::d0a3:44ff:feb0:2da8 52402 typ host
        a=candidate:5 1 TCP 1015022079 fe80::d0a3:44ff:feb0:2da8 9 typ host tcptype active
        a=candidate:6 1 TCP 1010827775 fe80::d0a3:44ff:feb0:2da8 37259 typ host tcptype passive
        a=candidate:7 1 UDP 2015363839 fe80::8c98:dfff:febe:5059 39097 typ host
        a=candidate:8 1 TCP 1015022335 fe80::8c98:dfff:febe:5059 9 typ host tcptype active
        a=candidate:9 1 TCP 1010828031 fe80::8c98:dfff:febe:5059 50307 typ host tcptype passive
        m=audio 0 UDP/TLS/RTP/SAVPF 97
        c=IN IP4 0.0.0.0
        a=setup:actpass
        a=ice-ufrag:JqNRg8UcfRDd3dLozK/94oRs5Sd6LXVC
        a=ice-pwd:CbdHpfEPluwv1USmfaXhg7wuH4tERdG4
        a=bundle-only
        a=rtcp-mux
        a=rtcp-rsize
        a=sendonly
        a=rtpmap:97 OPUS/48000/2
        a=rtcp-fb:97 transport-cc
        a=fmtp:97 sprop-stereo=0;sprop-maxcapturerate=48000
        a=ssrc:3397115239 msid:user2454784183@host-34dfee1e webrtctransceiver1
        a=ssrc:3397115239 cname:user2454784183@host-34dfee1e
        a=mid:audio1
        a=fingerprint:sha-256 49:06:3C:E4:09:2C:4A:0F:77:7A:79:B1:85:4D:2C:89:19:12:9D:52:1B:8E:FC:1B:31:61:11:1\
        8:F0:F6:32:6A
        a=rtcp-mux-only
        """
}
