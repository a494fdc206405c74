<?php
defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

delete_option( 'testimonials_widget_service' );
